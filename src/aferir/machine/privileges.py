"""Permissions of this process."""

from __future__ import annotations

import os
import pwd
import shlex
import sys
from pathlib import Path

from aferir.model.finding import Finding


def is_root() -> bool:
    """True if we may make containers and control groups."""
    return os.geteuid() == 0


def as_root_command() -> str:
    """Command line of this program, to be repeated with sudo(8)."""
    program = Path(sys.argv[0]).name
    if program != "aferir" and not program.startswith("aferir"):
        return "sudo aferir ..."
    # sudo(8) searches a path of its own, which does not contain a virtual environment.
    return shlex.join(["sudo", *sys.argv])


def user_namespaces() -> bool:
    """True if an ordinary user may make a user namespace (user_namespaces(7)).

    Debian's setting `unprivileged_userns_clone` and Ubuntu's of AppArmor may each forbid it.
    """
    if not Path("/proc/self/ns/user").exists():
        return False
    restricts = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
    return (
        _number("/proc/sys/user/max_user_namespaces", otherwise=1) > 0
        and _number("/proc/sys/kernel/unprivileged_userns_clone", otherwise=1) == 1
        and _number(restricts, otherwise=0) == 0
    )


def has_subordinate_ids() -> bool:
    """True if this user may map further user and group IDs into a namespace (subuid(5))."""
    uid = str(os.getuid())
    try:
        names = {uid, pwd.getpwuid(os.getuid()).pw_name}
    except KeyError:
        names = {uid}
    return all(_owners(path) & names for path in ("/etc/subuid", "/etc/subgid"))


def _owners(path: str) -> set[str]:
    """Users with a range of IDs in the file."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    return {line.partition(":")[0] for line in lines}


def kvm_device() -> str:
    """`absent`, `forbidden` or `open`; only booting a guest shows whether an open one works."""
    device = Path("/dev/kvm")
    if not device.exists():
        return "absent"
    return "open" if os.access(device, os.R_OK | os.W_OK) else "forbidden"


def findings() -> list[Finding]:
    """Findings about root, user namespaces and access to KVM."""
    found = []
    if is_root():
        found.append(Finding("privileges", "ok", "running as root"))
    else:
        found.append(
            Finding(
                "privileges",
                "degraded",
                "not running as root: no LXC and no nspawn, and nothing is limited",
                as_root_command(),
            )
        )
        if not user_namespaces():
            said = "ordinary users may not make user namespaces: no image can be built"
            found.append(Finding("user-namespaces", "degraded", said, as_root_command()))
    if kvm_device() == "forbidden":
        said = "/dev/kvm may not be opened: guests are emulated"
        found.append(Finding("kvm", "degraded", said, "sudo adduser $USER kvm, and log in again"))
    return found


def _number(path: str, *, otherwise: int) -> int:
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return otherwise
