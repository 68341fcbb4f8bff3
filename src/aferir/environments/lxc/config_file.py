"""The configuration of a container and the command lines of LXC: pure functions.

Source: lxc.container.conf(5), lxc-start(1), lxc-attach(1) of LXC 4 and later.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from aferir.linux import affinity, cgroup
from aferir.model.plan import EnvironmentSpec

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NO_CAPABILITIES = "mac_admin mac_override mknod sys_boot sys_module sys_rawio sys_time"
"""Capabilities to drop because a program could change the host itself with them (capabilities(7)).
"""


def config(
    spec: EnvironmentSpec,
    *,
    name: str,
    tree: Path,
    upper: Path,
    cpus: Sequence[int],
    have: cgroup.Layout,
    seccomp: Path | None = None,
    host_name: str = "aferir",
    first_program: str = "/sbin/aferir-container",
    mounts: Sequence[str] = (),
    own_network: bool = True,
) -> str:
    """Configuration file of one container.

    `tree` is read-only below the private `upper`, so that nothing is copied. The network is either
    a loopback device alone or the host's. Groups have fixed names, by which remains of a killed run
    are found. `mounts` are further lines in the form of fstab(5), with targets relative to the
    root.
    """
    lines = [
        ("lxc.uts.name", host_name),
        ("lxc.rootfs.path", f"overlay:{_escaped(tree)}:{_escaped(upper)}"),
        ("lxc.init.cmd", first_program),
        ("lxc.net.0.type", "empty" if own_network else "none"),
        ("lxc.mount.auto", "proc:mixed sys:ro"),
        ("lxc.mount.entry", "shm dev/shm tmpfs rw,nosuid,nodev,create=dir 0 0"),
        *(("lxc.mount.entry", line) for line in mounts),
        ("lxc.autodev", "1"),
        ("lxc.tty.max", "0"),
        ("lxc.pty.max", "64"),
        ("lxc.console.path", "none"),
        ("lxc.cap.drop", _NO_CAPABILITIES),
        ("lxc.environment", f"PATH={PATH}"),
        ("lxc.cgroup.dir.container", name),
        ("lxc.cgroup.dir.monitor", f"{name}-monitor"),
        *_limits(spec, cpus, have),
    ]
    if seccomp is not None:
        lines.append(("lxc.seccomp.profile", str(seccomp)))
    return "".join(f"{key} = {value}\n" for key, value in lines)


def _limits(
    spec: EnvironmentSpec, cpus: Sequence[int], have: cgroup.Layout
) -> list[tuple[str, str]]:
    """Keys and values of limits; keys depend on the version of the cgroup controller here."""
    limits = cgroup.Limits(
        cpus=affinity.cpu_limit(spec), memory_bytes=spec.memory_bytes, nice=os.nice(0)
    )
    version = {True: "lxc.cgroup2", False: "lxc.cgroup"}
    lines = [
        (f"{version[root == have.v2]}.{file}", value)
        for root, file, value in cgroup.settings(limits, have)
    ]
    if have.has("cpuset"):
        key = version["cpuset" not in have.v1]
        lines.append((f"{key}.cpuset.cpus", ",".join(map(str, cpus))))
    return lines


def start_command(folder: Path, name: str, log: Path) -> list[str]:
    """Command that runs the container in the foreground; the monitor, our child, dies with us."""
    return ["lxc-start", "-F", "-P", str(folder), "-n", name, "-l", "WARN", "-o", str(log)]


def daemon_command(folder: Path, name: str, log: Path) -> list[str]:
    """Command that starts the container in the background, and returns once it runs."""
    return ["lxc-start", "-d", "-P", str(folder), "-n", name, "-l", "WARN", "-o", str(log)]


def attach_command(
    folder: Path, name: str, command: Sequence[str], environment: Mapping[str, str]
) -> list[str]:
    """Command that runs `command` inside, with no variables except `environment`."""
    variables = [f"--set-var={key}={value}" for key, value in environment.items()]
    return ["lxc-attach", "-P", str(folder), "-n", name, "--clear-env", *variables, "--", *command]


def stop_command(folder: Path, name: str) -> list[str]:
    """Command that kills all processes inside."""
    return ["lxc-stop", "-P", str(folder), "-n", name, "-k"]


def reason(log: str) -> str:
    """First error of LXC's log; later ones are its consequences.

    A line reads `PROGRAM NAME TIME ERROR  MODULE - FILE:FUNCTION:LINE - MESSAGE`.
    """
    lines = log.splitlines()
    errors = [line for line in lines if " ERROR " in line] or lines
    return errors[0].strip().split(" - ", 2)[-1] if errors else ""


def bound(folder: Path, inside: PurePosixPath, *, read_only: bool = False) -> str:
    """A line for `mounts` that binds a folder of the host to a path inside (fstab(5))."""
    source = str(folder).replace("\\", "\\134").replace(" ", "\\040")
    options = "bind,ro,create=dir" if read_only else "bind,create=dir"
    return f"{source} {inside.relative_to('/')} none {options} 0 0"


def _escaped(path: Path) -> str:
    """Escape colons, which separate the layers of an overlay."""
    return str(path).replace(":", "\\:")
