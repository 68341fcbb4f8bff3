"""The life of a cluster of containers: made, scaled, healed, destroyed, and gone without a trace.

By the command line, as a user would, in a state folder of the bench's own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

from aferir import journal, process
from aferir.bench.leftovers import leftovers
from aferir.bench.options import BenchOptions, Note
from aferir.cluster import manager, storing
from aferir.cluster.description import Description
from aferir.environments import image
from aferir.errors import AferirError, ProgramError
from aferir.model.bench import Figure

_NAME = "bench"
_NODES, _MORE = 4, 8
_LIVES, _QUICK_LIVES = 5, 1
_CREATIONS, _QUICK_CREATIONS = 100, 3
_TARGETS_S = {"first_mpi": 20.0, "scale": 20.0, "destroy": 5.0, "heal": 30.0}
_LIMIT_S = 120.0
_MEANS = {
    "first_mpi": f"from `create` of {_NODES} nodes to the end of the first MPI program",
    "scale": f"to {_MORE} nodes and back to {_NODES}",
    "destroy": f"of {_NODES} nodes",
    "heal": "from the death of an idle node to MPI on all nodes again",
}

Lives = dict[str, list[float]]


def figures(options: BenchOptions, note: Note) -> list[Figure]:
    """Times of some lives, and what many creations leave behind."""
    lives = _QUICK_LIVES if options.quick else _LIVES
    creations = _QUICK_CREATIONS if options.quick else _CREATIONS
    seconds: Lives = {name: [] for name in _TARGETS_S}
    try:
        asked = Description(name=_NAME, nodes=_NODES)
        manager.require(asked)
        note("building the image of a node", 0.0)
        image.ensure(extra=manager.packages(asked))
        with _own_state():
            before = set(leftovers(frozenset()))
            for life in range(lives):
                note("a cluster's life", 0.5 * life / lives)
                _live(seconds)
            for made in range(creations):
                note("made and destroyed", 0.5 + 0.5 * made / creations)
                _cluster("create", _NAME, "--nodes", "2")
                _cluster("destroy", _NAME)
            left = sorted(set(leftovers(frozenset())) - before)
    except AferirError as error:
        return [
            Figure(name=f"life.{name}", value=None, unit="s", n=0, note=error.message)
            for name in _TARGETS_S
        ]
    return [*judge(seconds), judge_leftovers(left, lives + creations)]


def judge(seconds: Lives) -> list[Figure]:
    """The longest of each, against what a user may wait for."""
    return [
        Figure(
            name=f"life.{name}",
            value=max(values),
            unit="s",
            n=len(values),
            target=f"<= {_TARGETS_S[name]:g}",
            holds=max(values) <= _TARGETS_S[name],
            note=f"{_MEANS[name]}; the longest, median {median(values):.1f} s",
        )
        for name, values in seconds.items()
    ]


def judge_leftovers(left: Sequence[str], lives: int) -> Figure:
    """Anything that was not there before is too much."""
    return Figure(
        name="life.left_behind",
        value=float(len(left)),
        unit="things",
        n=lives,
        target="0",
        holds=not left,
        note="; ".join(left[:3]) or "no process, mount, control group, name space, entry or folder",
    )


def _live(seconds: Lives) -> None:
    start = time.monotonic()
    try:
        _cluster("create", _NAME, "--nodes", str(_NODES))
        _runs_on(_NODES)
        seconds["first_mpi"].append(time.monotonic() - start)
        start = time.monotonic()
        _cluster("scale", _NAME, str(_MORE))
        _cluster("scale", _NAME, str(_NODES))
        seconds["scale"].append(time.monotonic() - start)
        _runs_on(_NODES)
        start = time.monotonic()
        _kill("node2")
        _until(lambda: _runs_on(_NODES))
        seconds["heal"].append(time.monotonic() - start)
        start = time.monotonic()
    finally:
        with contextlib.suppress(AferirError):
            _cluster("destroy", _NAME)
    seconds["destroy"].append(time.monotonic() - start)


def _cluster(*words: str) -> str:
    command = [sys.executable, "-m", "aferir", "cluster", *words]
    return process.run(command, timeout_s=_LIMIT_S).stdout


def _runs_on(nodes: int) -> None:
    """Errors: ProgramError unless MPI puts a rank on each of so many nodes."""
    seen = set(_cluster("run", _NAME, "--", "mpirun", "-N", "1", "hostname").split())
    if len(seen) != nodes:
        raise ProgramError(f"MPI ran on {len(seen)} nodes of {nodes}")


def _until(works: Callable[[], None]) -> None:
    deadline = time.monotonic() + _LIMIT_S
    while True:
        try:
            works()
        except ProgramError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def _kill(name: str) -> None:
    """As a node dies that was not asked to."""
    state = storing.read(_NAME)
    node = next(node for node in state.nodes if node.name == name)
    entry = journal.read(node.entry)
    pid = None if entry is None else manager.backend(state.description).process(entry)
    if pid is None:
        raise ProgramError(f"{name} does not run")
    os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def _own_state() -> Iterator[None]:
    """The user's clusters are none of the bench's business."""
    given = os.environ.get("AFERIR_STATE")
    with tempfile.TemporaryDirectory(prefix="aferir-bench-") as folder:
        os.environ["AFERIR_STATE"] = str(Path(folder))
        try:
            yield
        finally:
            if given is None:
                del os.environ["AFERIR_STATE"]
            else:
                os.environ["AFERIR_STATE"] = given
