"""Hosts that are containers of this machine: each has processes, mounts and a name of its own.

Their roots are this machine's, and so are the images that they start instances from. Requires root.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from aferir.linux import namespace

NODES = 6
_ALONE = "unshare --net"
_ON_SWITCH = f"nsenter --net={namespace.FOLDER}/"
_STATE = "state-of-{name}"
_TABLE = '[[host]]\nname = "{name}"\nreach = "sh {script}"\n'
_START = """
exec {network} unshare --uts --ipc --pid --mount --fork --kill-child --mount-proc sh -ec '
hostname {name}
mount -t tmpfs run /run
mkdir /run/groups /run/lock /run/netns
mount --rbind /sys/fs/cgroup /run/groups
mount -t sysfs sysfs /sys
mount --move /run/groups /sys/fs/cgroup
export AFERIR_STATE={state}
exec "$@"' sh "$@"
"""
"""Script that makes a host's namespaces and runs its arguments there. Its /sys shows its network's
interfaces; a new one has no control groups."""


def unconnected(folder: Path, *prefixes: str) -> Path:
    """A file with `NODES` hosts of each prefix, `node1` to `node6`; none of them has a network."""
    names = (f"{prefix}{number}" for prefix in prefixes for number in range(1, NODES + 1))
    return _write(folder, dict.fromkeys(names, _ALONE))


@contextmanager
def connected(folder: Path) -> Iterator[Path]:
    """A file with the hosts `node1` to `node6`, which are on one switch until the block ends."""
    with namespace.star(NODES) as star:
        places = enumerate(star.hosts, 1)
        yield _write(folder, {f"node{k}": f"{_ON_SWITCH}{one.name}" for k, one in places})


def states(folder: Path) -> list[Path]:
    """State folders of the hosts of the file in `folder`, of those that were used."""
    return sorted(folder.glob(_STATE.format(name="*")))


def _write(folder: Path, networks: Mapping[str, str]) -> Path:
    """Write scripts that enter the hosts, and a file of them; `networks`: how to enter each's."""
    for name, network in networks.items():
        text = _START.format(name=name, network=network, state=folder / _STATE.format(name=name))
        (folder / name).write_text(text, encoding="utf-8")
    file = folder / "hosts.toml"
    tables = (_TABLE.format(name=name, script=folder / name) for name in networks)
    file.write_text("".join(tables), encoding="utf-8")
    return file
