"""A one-host OpenStack: Debian's packages in a tree, running in namespaces of their own.

Nothing of it is on this machine but one folder and one network namespace, both journalled.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen

from aferir.errors import ProgramError
from aferir.image import recipe, userland
from aferir.linux import journal, namespace, process, undo
from aferir.machine import facts
from tests.openstack_host import settings

_DAEMONS = Path(__file__).with_name("daemons.py")
_INSTALL_LIMIT_S = 1500.0
_START_LIMIT_S = 900.0
_LIMIT_S = 60.0
_OUR_PORT = "prov1"

_SCRIPT = f"""set -e
hostname {settings.HOST}
mount --bind "$1" "$1"  # ip netns exec wants a root that is a mount point
mount -t proc proc "$1/proc"
mount -t sysfs sys "$1/sys"
mount --rbind /dev "$1/dev"
mount -t tmpfs run "$1/run"
mkdir "$1/run/netns" "$1/run/lock"
exec chroot "$1" /usr/bin/python3 -u /daemons.py
"""


@contextmanager
def one_host(tell: Callable[[str], None]) -> Iterator[str]:
    """Install and start it, end it and remove it; the namespace that reaches it and its instances.

    Errors: ProgramError, with the end of the log of who did not start.
    """
    entry = journal.write(namespace.KIND, {})
    inside = namespace.name_of(entry, "openstack")
    folder = namespace.folder_of(entry)
    tree = folder / "openstack"
    child: Popen[str] | None = None
    try:
        folder.mkdir(parents=True)
        tell("installing")
        install(tree, entry.id)
        for command in _commands(inside):
            process.run(command, timeout_s=_LIMIT_S)
        tell("starting")
        child = _start(tree, inside, entry.id)
        _await_ready(child, tree, tell)
        yield inside
    finally:
        if child is not None:
            process.end(child)
        namespace.give_back(entry)


def install(tree: Path, mark: str) -> None:
    """Put the packages into an empty folder. Errors: ProgramError."""
    sources = userland._write_sources(facts.os_release()["VERSION_CODENAME"], tree.parent)
    apt = recipe.apt_options(process.run(["apt-config", "dump"], timeout_s=30).stdout)
    made = [
        *("mmdebstrap", "--mode=root", "--variant=apt"),
        *(f"--aptopt={line}" for line in apt),
        *("--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*"),
        *("--dpkgopt=path-exclude=/usr/share/locale/*",),
        f"--include={','.join(settings.PACKAGES)}",
        # RabbitMQ and Nova ask for the address of the host's own name while they are installed.
        '--setup-hook=mkdir -p "$1/etc"',
        f'--setup-hook=echo 127.0.0.1 localhost {settings.HOST} > "$1/etc/hosts"',
        *(facts.os_release()["VERSION_CODENAME"], str(tree)),
        *sources,
    ]
    script = f'hostname {settings.HOST}; exec "$@"'
    process.run(
        ["unshare", "--uts", "sh", "-c", script, "install", *made],
        timeout_s=_INSTALL_LIMIT_S,
        environment={undo.MARK: mark, "TMPDIR": str(tree.parent)},
    )


def _start(tree: Path, inside: str, mark: str) -> Popen[str]:
    (tree / "daemons.py").write_bytes(_DAEMONS.read_bytes())
    within = ["nsenter", f"--net={namespace.FOLDER / inside}"]
    apart = ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child"]
    return process.start(
        [*within, *apart, "sh", "-c", _SCRIPT, "openstack", str(tree)],
        environment={
            undo.MARK: mark,
            "FILES": json.dumps(dict(settings.FILES)),
            "PASSWORD": settings.PASSWORD,
            "HOST": settings.HOST,
            "NETWORK": settings.NETWORK,
            "LANG": "C.UTF-8",
            "HOME": "/root",
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            **settings.VARIABLES,
        },
        stdout=PIPE,
        stderr=PIPE,
    )


def _await_ready(child: Popen[str], tree: Path, tell: Callable[[str], None]) -> None:
    """Read what the first program says, until it is ready."""
    assert child.stdout is not None
    os.set_blocking(child.stdout.fileno(), False)
    deadline = time.monotonic() + _START_LIMIT_S
    while child.poll() is None and time.monotonic() < deadline:
        for line in child.stdout.readlines() or ():
            tell(line.strip())
            if line.rstrip().endswith("ready"):
                return
        time.sleep(0.2)
    logs = sorted((tree / "var/log/one-host").glob("*.log"), key=lambda path: path.stat().st_mtime)
    ends = [f"{path.name}: {path.read_text('utf-8', 'replace')[-600:]}" for path in logs[-3:]]
    said = child.stderr.read() if child.stderr is not None and child.poll() is not None else ""
    raise ProgramError(f"OpenStack did not start: {said} {' / '.join(ends)}")


def _commands(inside: str) -> list[list[str]]:
    """A network namespace with the loopback, and a veth whose one end bridges the instances."""
    ip = ["ip", "-n", inside]
    up = ["addrgenmode", "none", "up"]
    return [
        ["ip", "netns", "add", inside],
        [*ip, "link", "set", "lo", "up"],
        [*ip, "link", "add", settings.PROVIDER_PORT, "type", "veth", "peer", "name", _OUR_PORT],
        [*ip, "address", "add", f"{settings.NETWORK}.1/24", "dev", _OUR_PORT],
        [*ip, "link", "set", settings.PROVIDER_PORT, *up],
        [*ip, "link", "set", _OUR_PORT, *up],
        [
            *("ip", "netns", "exec", inside),
            *("sysctl", "-qw", f"net.ipv4.neigh.{_OUR_PORT}.retrans_time_ms=20"),
        ],
    ]
