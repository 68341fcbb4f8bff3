"""Hosts that are containers of this machine: each has processes, mounts and a name of its own.

Their roots are this machine's, and so are the images that they start instances from. Requires root.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from aferir.linux import namespace, process

NODES = 6
_ALONE = "unshare --net"
_ON_SWITCH = f"nsenter --net={namespace.FOLDER}/"
_FOLDER = "hosts"
_TABLE = """
[[host]]
name = "{name}"
reach = "sh -c 'exec sh $AFERIR_STATE/hosts/{name} \\"$@\\"' sh"
"""
"""Table of a host: it is the same in every run, so that a run over hosts can be continued."""
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
_CLEANING_S = 120.0


def unconnected(state: Path, *prefixes: str) -> Path:
    """A file with `NODES` hosts of each prefix, `node1` to `node6`; none of them has a network.

    They are reached if `state` is aferir's state folder.
    """
    names = (f"{prefix}{number}" for prefix in prefixes for number in range(1, NODES + 1))
    return _write(state, dict.fromkeys(names, _ALONE))


@contextmanager
def connected(state: Path) -> Iterator[Path]:
    """A file with the hosts `node1` to `node6`, which are on one switch until the block ends.

    They are reached if `state` is aferir's state folder. What they leave is removed.
    """
    with namespace.star(NODES) as star:
        places = enumerate(star.hosts, 1)
        try:
            yield _write(state, {f"node{k}": f"{_ON_SWITCH}{one.name}" for k, one in places})
        finally:
            for one in states(state):
                line = [sys.executable, "-m", "aferir", "clean"]
                told = {"AFERIR_STATE": str(one)}
                process.run(line, environment=told, timeout_s=_CLEANING_S, check=False)


def states(state: Path) -> list[Path]:
    """State folders of those hosts that were used."""
    return sorted((state / _FOLDER).glob("state-of-*"))


def _write(state: Path, networks: Mapping[str, str]) -> Path:
    """Write scripts that enter the hosts, and a file of them; `networks`: how to enter each's."""
    folder = state / _FOLDER
    folder.mkdir()
    for name, network in networks.items():
        text = _START.format(name=name, network=network, state=folder / f"state-of-{name}")
        (folder / name).write_text(text, encoding="utf-8")
    file = folder / "hosts.toml"
    file.write_text("".join(_TABLE.format(name=name) for name in networks), encoding="utf-8")
    return file
