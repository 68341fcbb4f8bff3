"""Create, scale, heal and destroy clusters, and check that nothing is left of them.

The clusters consist of containers or of guests. The bench uses the command line, as a user would,
with a state folder of its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

import msgspec

from aferir.cluster import configuration, manager, storing
from aferir.cluster.description import Description, NodeKind
from aferir.errors import AferirError, MissingError, ProgramError
from aferir.image import userland
from aferir.linux import journal, process, wait
from aferir.model.bench import Figure
from aferir.selftest.leftovers import judge_leftovers, leftovers, own_state
from aferir.selftest.options import BenchOptions, Note

_NAME = "bench"
_LIMIT_S = 300.0
_JOB = ("mpirun", "-N", "1", "sh", "-c", "touch started-$(hostname); exec sleep 200")

Lives = dict[str, list[float]]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Steps in the life of clusters of one kind, and the time that a user may wait for each."""

    part: str
    kind: NodeKind
    nodes: int
    more: int = 0
    """Number of nodes that a cluster is scaled to and back from; 0: it is not scaled."""
    lives: int
    creations: int
    targets_s: Mapping[str, float]
    slow: frozenset[str] = frozenset()
    """Names of the steps that a quick bench leaves out."""


_CONTAINERS = Plan(
    part="life",
    kind="container",
    nodes=4,
    more=8,
    lives=5,
    creations=100,
    targets_s={"first_mpi": 20.0, "scale": 20.0, "heal": 30.0, "job": 60.0, "destroy": 5.0},
)
_GUESTS = Plan(
    part="guests",
    kind="vm",
    nodes=3,
    lives=3,
    creations=0,
    targets_s={"first_mpi": 180.0, "heal": 30.0, "job": 180.0, "destroy": 5.0},
    slow=frozenset({"heal", "job"}),
)


def containers(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure the times of some life cycles, and what many creations leave behind."""
    return _figures(_CONTAINERS, options, note)


def guests(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure the same with guests, which QEMU may have to emulate."""
    return _figures(_GUESTS, options, note)


def _figures(plan: Plan, options: BenchOptions, note: Note) -> list[Figure]:
    lives = 1 if options.quick else plan.lives
    creations = min(3, plan.creations) if options.quick else plan.creations
    left_out = plan.slow if options.quick else frozenset()
    seconds: Lives = {name: [] for name in plan.targets_s if name not in left_out}
    try:
        asked = Description(name=_NAME, nodes=plan.nodes, kind=plan.kind)
        manager.require(asked)
        note("building the image of a node", 0.0)
        userland.ensure(extra=manager.packages(asked))
        with own_state() as state:
            for life in range(lives):
                note(f"a cluster's life, {plan.kind}", 0.5 * life / lives)
                _live(plan, seconds)
            for made in range(creations):
                note("made and destroyed", 0.5 + 0.5 * made / creations)
                _cluster("create", _NAME, "--nodes", "2")
                _cluster("destroy", _NAME)
            left = leftovers(state)
    except AferirError as error:
        judged = None if isinstance(error, MissingError) else False
        return [
            Figure(
                name=f"{plan.part}.{name}",
                value=None,
                unit="s",
                n=0,
                holds=judged,
                note=error.message,
            )
            for name in seconds
        ]
    return [
        *judge(plan, seconds),
        judge_leftovers(f"{plan.part}.left_behind", left, lives + creations),
    ]


def judge(plan: Plan, seconds: Lives) -> list[Figure]:
    """Judge the longest time of each step by what a user may wait for."""
    means = {
        "first_mpi": f"from `create` of {plan.nodes} nodes to the end of the first MPI program",
        "scale": f"to {plan.more} nodes and back to {plan.nodes}",
        "heal": "from the death of an idle node to MPI on all nodes again",
        "job": "from the death of a node to the job's failure, which names it, and the next job",
        "destroy": f"of {plan.nodes} nodes",
    }
    return [
        Figure(
            name=f"{plan.part}.{name}",
            value=max(values),
            unit="s",
            n=len(values),
            target=f"<= {plan.targets_s[name]:g}",
            holds=max(values) <= plan.targets_s[name],
            note=f"{means[name]}; the longest, median {median(values):.1f} s",
        )
        for name, values in seconds.items()
    ]


def _live(plan: Plan, seconds: Lives) -> None:
    try:
        with _timed(seconds, "first_mpi"):
            _cluster("create", _NAME, "--nodes", str(plan.nodes), "--kind", plan.kind)
            _runs_on(plan.nodes)
        if "scale" in seconds:
            with _timed(seconds, "scale"):
                _cluster("scale", _NAME, str(plan.more))
                _cluster("scale", _NAME, str(plan.nodes))
            _runs_on(plan.nodes)
        if "heal" in seconds:
            with _timed(seconds, "heal"):
                _kill("node2")
                _until(lambda: _runs_on(plan.nodes))
        if "job" in seconds:
            with _job() as job, _timed(seconds, "job"):
                _kill("node1")
                _fails_because_of("node1", job)
                _until(lambda: _runs_on(plan.nodes))
    except BaseException:
        with contextlib.suppress(AferirError):
            _cluster("destroy", _NAME)
        raise
    with _timed(seconds, "destroy"):
        _cluster("destroy", _NAME)


@contextlib.contextmanager
def _timed(seconds: Lives, name: str) -> Iterator[None]:
    start = time.monotonic()
    yield
    seconds[name].append(time.monotonic() - start)


@contextlib.contextmanager
def _job() -> Iterator[subprocess.Popen[str]]:
    """Run a job on all nodes while the context lasts; it has started when the context begins."""
    command = [sys.executable, "-m", "aferir", "cluster", "run", _NAME, "--", *_JOB]
    job = process.start(command, stderr=subprocess.PIPE)
    try:
        home = storing.folder(_NAME) / "home" / configuration.USER
        names = [node.name for node in storing.read(_NAME).nodes]
        _until(lambda: _has_started(home, names))
        yield job
    finally:
        process.end(job)


def _has_started(home: Path, names: Sequence[str]) -> None:
    if absent := [name for name in names if not (home / f"started-{name}").exists()]:
        raise ProgramError(f"the job has not started on {', '.join(absent)}")


def _fails_because_of(name: str, job: subprocess.Popen[str]) -> None:
    try:
        _, said = job.communicate(timeout=_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise ProgramError(f"a job goes on though {name} died") from None
    if job.returncode == 0 or f"because {name} died" not in said:
        raise ProgramError(f"a job does not say that {name} died: {said[-200:]}")


def _cluster(*words: str) -> str:
    command = [sys.executable, "-m", "aferir", "cluster", *words]
    return process.run(command, timeout_s=_LIMIT_S).stdout


def _runs_on(nodes: int) -> None:
    """Run MPI on the cluster. Errors: ProgramError unless each of `nodes` nodes gets a rank."""
    seen = set(_cluster("run", _NAME, "--", "mpirun", "-N", "1", "hostname").split())
    if len(seen) != nodes:
        raise ProgramError(f"MPI ran on {len(seen)} nodes of {nodes}")


def _until(works: Callable[[], None]) -> None:
    wait.until_it_works(works, ProgramError, wait.after(_LIMIT_S), period_s=0.05)


def _kill(name: str) -> None:
    """Kill the node's first process, as if the node had died by itself."""
    state = storing.read(_NAME)
    node = next(node for node in state.nodes if node.name == name)
    entry = journal.read(node.entry)
    pid = None if entry is None else manager.backend(state.description).process(entry)
    if pid is None:
        raise ProgramError(f"{name} does not run")
    os.kill(pid, signal.SIGKILL)
