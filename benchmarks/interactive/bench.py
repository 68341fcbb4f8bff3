"""Judge that the parts of the time to interactive add up, and that 5 ms are found where planted."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np

from aferir import registry
from aferir.environments import interactive, sandbox
from aferir.environments.interactive import PARTS, Ledger
from aferir.linux import mounts, process
from aferir.model.bench import BenchResult, Figure
from aferir.model.plan import EnvironmentSpec
from aferir.selftest.options import BenchOptions, Note

HELP = "interactive: the parts of its time add up, and planted delays are found where they are"
PEERS = ()
_PLANTED_S = 0.005
_KINDS = ("chroot", "bubblewrap", "nspawn", "charliecloud", "container", "oci", "uml")
_MEMORY = 2**28
_LOW = 0.1
"""Quantile by which arms are compared: the machine's other work only ever adds time."""


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Measure every kind that is available, and planted delays in the simplest one."""
    figures = []
    for k, kind in enumerate(_KINDS):
        note(f"requests for {kind}", k / 2 / len(_KINDS))
        figures += _adds_up(kind, 3 if options.quick or kind == "uml" else 20)
    figures += _planted(20 if options.quick else 100, note)
    return BenchResult(bench="interactive", quick=options.quick, figures=tuple(figures))


def _adds_up(kind: str, requests: int) -> list[Figure]:
    environment = registry.by_kind(kind)
    missing = [f for f in environment.check() if f.status == "missing"]
    if missing:
        why = missing[0].message
        return [Figure(name=f"{kind}.total", value=None, unit="s", n=0, note=why)]
    environment.prepare()
    outcome = interactive.sequential(environment, _spec(kind), requests)
    worst = max((abs(one.unexplained()) for one in outcome.ledgers), default=1.0)
    totals = sorted(one.total_s for one in outcome.ledgers) or [float("nan")]
    return [
        Figure(
            name=f"{kind}.total",
            value=totals[len(totals) // 2],
            unit="s",
            n=len(outcome.ledgers),
            note="median; " + ("; ".join(outcome.failures) or "no request failed"),
        ),
        Figure(
            name=f"{kind}.unexplained",
            value=worst,
            unit="share of the total",
            n=len(outcome.ledgers),
            target="<= 0.01",
            holds=worst <= 0.01,
            note="largest of all requests",
        ),
    ]


def _planted(pairs: int, note: Note) -> list[Figure]:
    """Alternate runs with and without a delay in one part; judge how much each part has grown."""
    environment, spec = registry.by_kind("chroot"), _spec("chroot")
    figures = []
    for k, (part, plant) in enumerate(_PLANTS.items()):
        note(f"5 ms planted in {part}", 0.5 + k / 2 / len(_PLANTS))
        plain: list[Ledger] = []
        delayed: list[Ledger] = []
        for pair in range(pairs):
            arms = [(plain, contextlib.nullcontext), (delayed, plant)]
            for arm, context in arms if pair % 2 else reversed(arms):
                with context():
                    arm.append(interactive.once(environment, spec))
        grown = {name: _grown(plain, delayed, name) for name in PARTS}
        found = max(grown, key=lambda name: grown[name])
        others = ", ".join(f"{n} {v * 1e3:+.1f} ms" for n, v in grown.items() if n != part)
        figures.append(
            Figure(
                name=f"planted.{part}",
                value=grown[part],
                unit="s",
                n=pairs,
                target="the part that has grown most, by 4 to 9 ms",
                holds=found == part and 0.004 <= grown[part] <= 0.009,
                note=f"the other parts: {others}",
            )
        )
    return figures


def _grown(plain: Sequence[Ledger], delayed: Sequence[Ledger], part: str) -> float:
    low = [np.quantile([getattr(one, part) for one in arm], _LOW) for arm in (plain, delayed)]
    return float(low[1] - low[0])


def _spec(kind: str) -> EnvironmentSpec:
    return registry.kinds()[kind].spec(name=kind, kind=kind, cpus=1, memory_bytes=_MEMORY)


def _late(act: Callable[..., Any]) -> Callable[..., Any]:
    def later(*values: Any, **named: Any) -> Any:
        time.sleep(_PLANTED_S)
        return act(*values, **named)

    return later


@contextlib.contextmanager
def _in_files() -> Iterator[None]:
    with mock.patch.object(mounts, "overlay", _late(mounts.overlay)):
        yield


@contextlib.contextmanager
def _in_tool() -> Iterator[None]:
    with mock.patch.object(process, "start", _late(process.start)):
        yield


@contextlib.contextmanager
def _in_first_command() -> Iterator[None]:
    with _before_command("/bin/true"):
        yield


@contextlib.contextmanager
def _in_answer() -> Iterator[None]:
    with _before_command(interactive.COMMAND[0]):
        yield


@contextlib.contextmanager
def _before_command(program: str) -> Iterator[None]:
    ran = sandbox.SandboxInstance.run

    def later(self: Any, command: Sequence[str], **named: Any) -> Any:
        act = _late(ran) if command[0] == program else ran
        return act(self, command, **named)

    with mock.patch.object(sandbox.SandboxInstance, "run", later):
        yield


_PLANTS: dict[str, Callable[[], contextlib.AbstractContextManager[None]]] = {
    "copied_s": _in_files,
    "booted_s": _in_tool,
    "ready_s": _in_first_command,
    "answered_s": _in_answer,
}
