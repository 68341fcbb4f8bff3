"""Judge whether the parts of the time to interactive add up, and planted 5 ms are found."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import ModuleType
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
from aferir.statistics.arrays import Array
from aferir.statistics.intervals import median_interval

HELP = "interactive: the parts of its time add up, and planted delays are found where they are"
PEERS = ()
_PLANTED_S = 0.005
_SANDBOXES = ("chroot", "bubblewrap", "nspawn", "charliecloud", "apptainer")
_KINDS = (*_SANDBOXES, "container", "oci", "uml")
_MEMORY = 2**28
_LEVEL = 1 - 0.05 / len(PARTS)
"""Level of each interval, so that all of them hold at the same time in 95 of 100 benches."""
_NICE = -19
"""Nice value while delays are planted. At 0 and a load of 25, a sleep of 5 ms took 9.3 ms, but its
part grew by only 5.3 ms: a process that has just waited for a CPU need not wait again right after.
"""
_RESOLUTION_S = 1e-4
"""Resolution in s that the ledger claims: smaller differences need not be found."""


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Measure every kind that is available, and planted delays in the simplest one."""
    figures = []
    for k, kind in enumerate(_KINDS):
        note(f"requests for {kind}", k / 2 / len(_KINDS))
        figures += _adds_up(kind, 3 if options.quick or kind == "uml" else 20)
    with _favoured():
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
    """Alternate runs with and without a delay in one part; compare the parts pair by pair."""
    environment, spec = registry.by_kind("chroot"), _spec("chroot")
    figures = []
    for k, (part, plant) in enumerate(_PLANTS.items()):
        note(f"5 ms planted in {part}", 0.5 + k / 2 / len(_PLANTS))
        plain: list[Ledger] = []
        delayed: list[Ledger] = []
        planted_s: list[float] = []
        for pair in range(pairs):
            for is_delayed in (False, True) if pair % 2 else (True, False):
                if is_delayed:
                    with plant() as slept_s:
                        delayed.append(interactive.once(environment, spec))
                    planted_s.append(sum(slept_s))
                else:
                    plain.append(interactive.once(environment, spec))
        grown = {name: _grown(plain, delayed, name) for name in PARTS}
        figures.append(_found(part, grown, np.array(planted_s)))
    return figures


@contextlib.contextmanager
def _favoured() -> Iterator[None]:
    """Give this process and its children priority on the CPUs in the block, if permitted."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICE)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, before)


def _grown(plain: Sequence[Ledger], delayed: Sequence[Ledger], part: str) -> Array:
    """Growth of a part in each pair, in s."""
    pairs = zip(plain, delayed, strict=True)
    return np.array([getattr(late, part) - getattr(usual, part) for usual, late in pairs])


def _found(part: str, grown: Mapping[str, Array], planted_s: Array) -> Figure:
    """Judge whether the delayed part has grown most, and by as much as the delay really took.

    On a busy machine a sleep of 5 ms takes longer, so each sleep is timed. The interval of the
    median of the pairs' differences assumes nothing about their distribution.
    """
    medians = {name: float(np.median(values)) for name, values in grown.items()}
    growth = median_interval(grown[part], level=_LEVEL)
    excess = median_interval(grown[part] - planted_s, level=_LEVEL)
    holds = None
    said = "too few pairs"
    if growth is not None and excess is not None:
        agrees = excess.low <= _RESOLUTION_S and excess.high >= -_RESOLUTION_S
        # An interval that is wider than twice the delay agrees with anything.
        if excess.high - excess.low <= 2 * _PLANTED_S:
            holds = max(medians, key=medians.__getitem__) == part and growth.low > 0 and agrees
        said = (
            f"grown by [{growth.low * 1e3:.2f}, {growth.high * 1e3:.2f}] ms, planted "
            f"{np.median(planted_s) * 1e3:.2f} ms, difference of both "
            f"[{excess.low * 1e3:.2f}, {excess.high * 1e3:.2f}] ms"
        )
    others = ", ".join(f"{n} {v * 1e3:+.2f} ms" for n, v in medians.items() if n != part)
    return Figure(
        name=f"planted.{part}",
        value=medians[part],
        unit="s",
        n=planted_s.size,
        target=f"the part that has grown most; the {100 * _LEVEL:.4g} % interval of its growth "
        "less the planted delay's own time includes 0 to within 0.1 ms",
        holds=holds,
        note=f"{said}; the other parts: {others}",
    )


def _spec(kind: str) -> EnvironmentSpec:
    return registry.kinds()[kind].spec(name=kind, kind=kind, cpus=1, memory_bytes=_MEMORY)


def _late(act: Callable[..., Any], slept_s: list[float]) -> Callable[..., Any]:
    """Return `act` behind a delay, whose real length in s is appended to `slept_s`."""

    def later(*values: Any, **named: Any) -> Any:
        clock = time.perf_counter()
        time.sleep(_PLANTED_S)
        slept_s.append(time.perf_counter() - clock)
        return act(*values, **named)

    return later


@contextlib.contextmanager
def _before(module: ModuleType, name: str) -> Iterator[list[float]]:
    """Delay that function in the block; yields the lengths of the delays in s."""
    slept_s: list[float] = []
    with mock.patch.object(module, name, _late(getattr(module, name), slept_s)):
        yield slept_s


@contextlib.contextmanager
def _before_command(program: str) -> Iterator[list[float]]:
    """Delay that program in an instance; yields the lengths of the delays in s."""
    slept_s: list[float] = []
    ran = sandbox.SandboxInstance.run
    delayed = _late(ran, slept_s)

    def later(self: Any, command: Sequence[str], **named: Any) -> Any:
        return (delayed if command[0] == program else ran)(self, command, **named)

    with mock.patch.object(sandbox.SandboxInstance, "run", later):
        yield slept_s


_PLANTS: dict[str, Callable[[], contextlib.AbstractContextManager[list[float]]]] = {
    "copied_s": partial(_before, mounts, "overlay"),
    "booted_s": partial(_before, process, "start"),
    "ready_s": partial(_before_command, "/bin/true"),
    "answered_s": partial(_before_command, interactive.COMMAND[0]),
}
