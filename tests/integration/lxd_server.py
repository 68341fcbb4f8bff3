"""An LXD server of the tests' own: in a network namespace, with all its files in one folder.

It does not affect this machine or its own LXD, if there is one. The files of its instances are in
memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aferir.clouds import lxd, lxd_api
from aferir.errors import AferirError, MissingError, ProgramError
from aferir.linux import journal, namespace, process, undo, wait
from aferir.machine import packages, privileges
from aferir.model.finding import Finding

NETWORK = "10.78.0"
_BRIDGE = "instances"
_POOL = "memory"
_START_LIMIT_S = 60.0
_TIME_LIMIT_S = 60.0

# Runs in a mount namespace that ends with its last process, and LXD's mounts with it. /sys is
# mounted again, as ip-netns(8) does, so that LXD sees the interfaces of its own network; as that
# hides the control groups, they are mounted there once more.
_SCRIPT = """set -e
mkdir -p "$1/cgroup" "$1/storage-pools"
mount -t tmpfs instances "$1/storage-pools"
mount --rbind /sys/fs/cgroup "$1/cgroup"
mount -t sysfs sys /sys
mount --rbind "$1/cgroup" /sys/fs/cgroup
exec lxd --logfile "$1/lxd.log" --group root
"""


def check() -> list[Finding]:
    """Findings on root privileges and LXD's package."""
    if not privileges.is_root():
        said = "a server of LXD's is started by root"
        return [Finding(lxd.PROVIDER, "missing", said, privileges.as_root_command())]
    if absent := packages.missing(("lxd", "ip", "nsenter", "unshare")):
        said = f"LXD needs {', '.join(absent)}"
        return [Finding(lxd.PROVIDER, "missing", said, packages.install_command(absent))]
    return []


@contextmanager
def lxd_server() -> Iterator[tuple[lxd.Place, str]]:
    """Start a server and end it afterwards; yields the place of instances and its namespace.

    Release all instances before the end. Call it in the main thread, see `aferir.process.start`.
    Errors: MissingError if `check` finds anything missing, ProgramError if LXD does not start.
    """
    for finding in check():
        raise MissingError(finding.message, remedy=finding.remedy)
    entry = journal.write(namespace.KIND, {})
    inside = namespace.name_of(entry, "lxd")
    folder = namespace.folder_of(entry) / "lxd"
    try:
        folder.mkdir(parents=True)
        for command in _commands(inside):
            process.run(command, timeout_s=_TIME_LIMIT_S)
        enter = ["unshare", "-m", "nsenter", f"--net={namespace.FOLDER / inside}"]
        child = process.start(
            [*enter, "sh", "-c", _SCRIPT, "lxd-server", str(folder)],
            environment={"LXD_DIR": str(folder), undo.MARK: entry.id},
        )
        try:
            place = lxd.Place(
                socket=folder / "unix.socket",
                pool=_POOL,
                bridge=_BRIDGE,
                network=NETWORK,
                ours=True,
            )
            _await(place.socket, folder / "lxd.log")
            lxd.add_pool(place.socket, _POOL)
            yield place, inside
        finally:
            process.end(child)
    finally:
        namespace.give_back(entry)


def _commands(inside: str) -> list[list[str]]:
    ip = ["ip", "-n", inside]
    return [
        ["ip", "netns", "add", inside],
        [*ip, "link", "add", _BRIDGE, "type", "bridge"],
        [*ip, "address", "add", f"{NETWORK}.1/24", "dev", _BRIDGE],
        [*ip, "link", "set", _BRIDGE, "addrgenmode", "none", "up"],
        [*ip, "link", "set", "lo", "up"],
    ]


def _await(path: Path, log: Path) -> None:
    faults = (AferirError, OSError)
    try:
        wait.until_it_works(
            lambda: lxd_api.ask(path, "GET", "/1.0"),
            faults,
            wait.after(_START_LIMIT_S),
            period_s=0.05,
        )
    except faults as error:
        lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
        said = " / ".join(lines[-3:]) or str(error)
        raise ProgramError(f"LXD did not start: {said}") from None
