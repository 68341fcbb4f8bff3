"""Judge whether `aferir explain` names the planted cause, and no cause if there is none."""

from __future__ import annotations

import json
import math
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from aferir import config, registry
from aferir.errors import AferirError
from aferir.linux import process
from aferir.model.bench import BenchResult, Figure
from aferir.model.plan import HostLimits, Plan
from aferir.model.record import Record, Sample
from aferir.report.causes import Explanation
from aferir.report.explain import explain
from aferir.selftest.options import BenchOptions, Note
from aferir.statistics.arrays import Array
from benchmarks.explain.cases import Case, alike, cases, prepared
from benchmarks.parts import run_parts
from benchmarks.trials import Attempt, trials

HELP = "explain: planted causes found first, and no cause where nothing was planted"
PEERS = ()
SELECTABLE = RESUMABLE = True

_TRIALS, _QUICK_TRIALS = 2000, 200
_ROUNDS = 8
_BUDGET, _ALIKE_BUDGET, _QUICK_BUDGET = "100s", "40s", "20s"
_RIGHT, _EXPLAINED = 0.9, 0.9
_CASE_LIMIT_S = 900.0
_NICE = -19
"""Nice value of measured programs: a CPU quota has no effect while other programs hold the CPUs."""
_ALIKE, _QUICK_ALIKE = 100, 2
"""Number of real environments whose features cost their program nothing."""
_CAUSES = ("seccomp filter", "network", "overlay", "memory limit")


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Run thousands of simulated environments, ten planted causes, and equal environments."""
    parts = {"simulated": _simulated, "planted": _planted, "itself": _itself}
    return run_parts("explain", parts, options, note)


def _simulated(options: BenchOptions, note: Note) -> list[Figure]:
    """Explain simulated runs, with a shared machine's noise, by the product's functions."""
    trials = _QUICK_TRIALS if options.quick else _TRIALS
    rng = np.random.default_rng(options.seed)
    plan = _plan()
    figures = []
    for name, noise in _NOISES.items():
        note(f"simulated, {name}", 0.0)
        alike = [_explained(plan, rng, noise, {}) for _ in range(trials)]
        false = sum(bool(one.claimed) for one in alike)
        costs = {"seccomp filter": 0.3, "overlay": 0.1}
        found = [_explained(plan, rng, noise, costs) for _ in range(trials // 2)]
        first = sum(bool(one.claimed) and one.claimed[0].name == _CAUSES[0] for one in found)
        held = sum(_holds(one, costs) for one in found)
        figures += [
            _share(f"simulated.{name}.false_cause", false, trials, most=0.01),
            _share(f"simulated.{name}.right_first", first, len(found), least=_RIGHT),
            _share(f"simulated.{name}.intervals_hold", held, len(found), least=0.93),
        ]
    return figures


def _plan() -> Plan:
    document: dict[str, object] = {
        "experiment": {"name": "explain", "baseline": "native"},
        "environment": [
            {"name": "native", "kind": "native"},
            {"name": "podman", "kind": "oci"},
        ],
        "workload": [{"name": "work", "program": "command", "command": "true"}],
        "explain": {"environment": "podman", "causes": list(_CAUSES)},
    }
    host = HostLimits(cpus=(0, 1), memory_bytes=2**33)
    return config.plan_of(document, host, registry.all_programs(), registry.kinds())


def _normal(rng: np.random.Generator, count: int) -> Array:
    return rng.normal(0, 0.04, count)


def _heavy(rng: np.random.Generator, count: int) -> Array:
    return 0.03 * np.asarray(rng.standard_t(4, count))


def _disturbed(rng: np.random.Generator, count: int) -> Array:
    """Draw errors of logarithms; one duration in eight is up to twice as long."""
    spoilt = np.where(rng.random(count) < 0.125, rng.uniform(0.1, 0.7, count), 0.0)
    return np.asarray(rng.normal(0, 0.03, count) + spoilt)


_NOISES = {"normal": _normal, "heavy-tailed": _heavy, "disturbed": _disturbed}


def _explained(plan: Plan, rng: np.random.Generator, noise: Any, costs: Any) -> Explanation:
    assert plan.design is not None
    levels = {arm.environment: arm.levels for arm in plan.design.arms}
    drift = np.cumsum(rng.normal(0, 0.1, _ROUNDS))
    records = []
    for cell in plan.cells:
        has = levels.get(cell.environment, (-1,) * len(_CAUSES))
        log = sum(costs.get(n, 0.0) for n, level in zip(_CAUSES, has, strict=True) if level > 0)
        for number, error in enumerate(noise(rng, _ROUNDS).tolist()):
            value = math.exp(log + drift[number] + error)
            records.append(
                Record(
                    cell=cell.id,
                    group=cell.group,
                    environment=cell.environment,
                    workload=cell.workload.name,
                    repetition=number,
                    started_unix_ns=1,
                    samples=(Sample("duration_s", value, "s"),),
                )
            )
    return explain(plan, records).explanations[0]


def _holds(one: Explanation, costs: dict[str, float]) -> bool:
    whole = sum(costs.values())
    scale = math.expm1(whole) / whole
    return all(
        cause.interval is not None and cause.interval.contains(costs.get(cause.name, 0.0) * scale)
        for cause in one.causes
    )


class _Answer(msgspec.Struct, frozen=True):
    """Outcome of a real case."""

    first: str
    """The largest cause that is claimed; empty: none."""
    total: float
    rest: float
    rest_low: float
    said: str

    def explained(self) -> bool:
        """Whether the unexplained rest may be, by its interval, at most a tenth of the cost."""
        return self.rest_low <= (1 - _EXPLAINED) * self.total


def _planted(options: BenchOptions, note: Note) -> list[Figure]:
    figures: list[Figure] = []
    right = explained = costly = 0
    with tempfile.TemporaryDirectory() as name, prepared(Path(name)) as ground:
        chosen = [one for one in cases(ground) if _asked(options, one)]
        for place, case in enumerate(chosen):
            note(f"planted: {case.name}", place / len(chosen))
            try:
                answer = _answer(case, Path(name), _QUICK_BUDGET if options.quick else _BUDGET)
            except AferirError as error:
                figures.append(_failed(case, error))
                continue
            right += answer.first == case.cause
            costly += bool(case.cause)
            explained += bool(case.cause) and answer.explained()
            figures.append(_figure(case, answer))
    figures.append(_share("planted.right_first", right, len(chosen), least=_RIGHT))
    if costly:
        figures.append(_share("planted.explained", explained, costly, least=1.0))
    return figures


def _asked(options: BenchOptions, case: Case) -> bool:
    wishes = [one.removeprefix("planted.") for one in options.only if one.startswith("planted.")]
    return not wishes or any(case.name.startswith(wish) for wish in wishes)


def _answer(case: Case, folder: Path, budget: str) -> _Answer:
    causes = [case.cause, *case.others] if case.cause else [*case.others]
    words = [
        *("nice", "-n", str(_NICE)),
        *(sys.executable, "-m", "aferir", "explain", "--json", "--new", "--no-more-arms"),
        *("--runs", str(folder / "runs"), "--in", case.environment),
        *("--time", budget, "--within", "2%", "-n", f"{_ROUNDS}..40"),
        *(word for cause in causes for word in ("--cause", cause)),
        *(("--prepare", case.prepare) if case.prepare else ()),
        *("--expect", "done", "--", *shlex.split(case.command)),
    ]
    done = process.run(words, timeout_s=_CASE_LIMIT_S)
    evaluation = json.loads(done.stdout)["evaluation"]
    if not evaluation["explanations"]:
        raise AferirError(" ".join(evaluation["not_explained"]))
    return _read(evaluation["explanations"][0])


def _read(one: dict[str, Any]) -> _Answer:
    claimed = sorted(
        (cause for cause in one["causes"] if cause["claimed"]), key=lambda c: -abs(c["effect"])
    )
    rest = one["total"] - math.fsum(cause["effect"] for cause in one["causes"])
    parts = [
        f"{cause['name']} {_percent(cause['effect'])} "
        f"[{_percent(cause['interval']['low'])}, {_percent(cause['interval']['high'])}]"
        for cause in one["causes"]
    ]
    ends = one["rest_interval"]
    rest_said = f"{_percent(rest)} [{_percent(ends['low'])}, {_percent(ends['high'])}]"
    return _Answer(
        first=claimed[0]["name"] if claimed else "",
        total=one["total"],
        rest=rest,
        rest_low=ends["low"],
        said=f"n = {one['rounds']}; {', '.join(parts)}, unexplained {rest_said}",
    )


def _percent(share: float) -> str:
    return f"{100 * share:+.1f}"


def _figure(case: Case, answer: _Answer) -> Figure:
    return Figure(
        name=f"planted.{case.name}",
        value=answer.total,
        unit="1",
        n=1,
        note=f"first is {answer.first or 'none'} (planted: {case.cause or 'none'}); {answer.said}",
    )


def _failed(case: Case, error: AferirError) -> Figure:
    return Figure(name=f"planted.{case.name}", value=None, unit="1", n=0, note=error.message)


def _itself(options: BenchOptions, note: Note) -> list[Figure]:
    """Explain environments whose features cost their program nothing, one kind after the other."""
    budget = _QUICK_BUDGET if options.quick else _ALIKE_BUDGET
    with tempfile.TemporaryDirectory() as name, prepared(Path(name)) as ground:
        choice = alike(ground)

        def attempt(before: int) -> Attempt:
            case = choice[before % len(choice)]
            answer = _answer(case, Path(name), budget)
            return Attempt(answer.first, f"{case.name}: {answer.said}")

        wanted = _QUICK_ALIKE if options.quick else _ALIKE
        made = trials("explain.itself", wanted, attempt, options.resume, note)
    claimed = sum(bool(one.answer) for one in made)
    return [_share("itself.false_cause", claimed, len(made), most=0.01)]


def _share(name: str, count: int, n: int, *, least: float = 0.0, most: float = 1.0) -> Figure:
    return Figure(
        name=name,
        value=count / n if n else None,
        unit="1",
        n=n,
        target=f">= {least:g}" if least else f"<= {most:g}",
        holds=least * n <= count <= most * n if n else None,
    )
