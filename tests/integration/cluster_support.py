"""Helpers for the tests of clusters of containers and of guests."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from aferir.cluster import configuration, manager, storing
from aferir.cluster.description import Description, State
from aferir.errors import ProgramError
from aferir.linux import journal, process
from tests.waiting import eventually

SLURM = Description(name="batch", nodes=1, slurm=True, accounting=True)
"""The cluster whose image all tests of Slurm use, so that one is built."""


def run(cluster: str, *command: str, root: bool = False) -> str:
    """Output of a command on the front end."""
    state = storing.read(cluster)
    inside = configuration.user_command(command, root=root)
    place = manager.place_of(state)
    made = manager.backend(state.description)
    entered = made.enter(place, state.nodes[0], inside, {})
    return process.run(entered).stdout


def kill(cluster: str, name: str) -> None:
    """Kill a node as a crash would."""
    state: State = storing.read(cluster)
    node = next(node for node in state.nodes if node.name == name)
    pid = manager.backend(state.description).process(entry_of(node.entry))
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: journal.start_time(pid) is None)


def entry_of(identity: str) -> journal.Entry:
    """Journal entry of the cluster."""
    entry = journal.read(identity)
    assert entry is not None
    return entry


def kill_once(cluster: str, name: str, started: Path) -> None:
    """Kill the process as soon as that file exists."""
    eventually(started.exists)
    kill(cluster, name)


def answer(cluster: str, *command: str) -> list[str]:
    """Words that a command on the front end prints; none while its server does not run yet."""
    with contextlib.suppress(ProgramError):
        return run(cluster, *command).split()
    return []
