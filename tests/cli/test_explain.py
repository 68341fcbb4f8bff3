"""`aferir explain` from a user's point of view, also if a feature cannot be removed."""

from __future__ import annotations

import json
import math
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from aferir import registry
from aferir.cli import explain, main
from aferir.environments.base import Kind
from aferir.environments.native import Native
from aferir.errors import MissingError
from aferir.linux import process
from aferir.linux.process import Completed
from aferir.model.plan import EnvironmentSpec, Plan
from aferir.model.record import Record, Sample
from aferir.report.causes import Cause, Explanation, Interaction
from aferir.runner.stopping import History, Round
from aferir.statistics.intervals import Interval
from tests.integration.support import usable

FILTER = "awk '/^Seccomp:/ {print $2 + 1}' /proc/self/status"
"""Prints 1 without a filter of system calls and 3 with one."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    return tmp_path


def aferir(folder: Path, *arguments: str) -> Completed:
    return process.run([sys.executable, "-m", "aferir", *arguments], directory=folder, check=False)


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["podman", "lxc"])
def test_the_cause_of_a_figure_is_found_in_a_real_container(folder: Path, kind: str) -> None:
    usable({"podman": "oci", "lxc": "container"}[kind])
    if process.run(["sh", "-c", FILTER]).stdout.strip() != "1":
        pytest.skip("this host filters system calls itself; run it where nothing does")
    done = aferir(
        folder,
        *("explain", "--in", kind, "--cause", "seccomp filter", "--cause", "network"),
        *("-n", "3", "--warmup", "0", "--figure", "mode(lower)=last", "--json"),
        *("--save", "why.toml", "--script", FILTER),
    )
    assert done.exit_code == 0, done.stderr
    [one] = json.loads(done.stdout)["evaluation"]["explanations"]
    assert one["metric"] == "mode"
    assert one["total"] == pytest.approx(2.0)
    first, second = one["causes"]
    assert (first["name"], first["claimed"]) == ("seccomp filter", True)
    assert first["effect"] == pytest.approx(2.0)
    assert (second["name"], second["claimed"]) == ("network", False)
    assert {kept["name"] for kept in one["kept"]} >= {"overlay", "memory limit"}
    saved = tomllib.loads((folder / "why.toml").read_text(encoding="utf-8"))
    assert saved["explain"]["causes"] == ["seccomp filter", "network"]
    again = aferir(folder, "run", "why.toml", "--check")
    assert again.stdout.startswith("why.toml is right: 8 cells")
    page = (next((folder / "runs").iterdir()) / "report.html").read_text(encoding="utf-8")
    assert "Where the difference comes from" in page


@pytest.mark.parametrize(
    "arguments",
    [
        ("--in", "native", "--", "true"),
        ("--in", "podmna", "--", "true"),
        ("--in", "podman", "--cause", "gravity", "--", "true"),
        ("--in", "podman", "--within", "much", "--", "true"),
        ("--in", "podman"),
    ],
)
def test_what_cannot_be_explained_starts_nothing(
    folder: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert main(["explain", *arguments]) == 2
    assert not (folder / "runs").exists()


class _Choosy(Native):
    """An environment that can only be allocated with a quota."""

    def allocate(self, spec: EnvironmentSpec) -> Any:
        if spec.cpu_quota is None:
            raise MissingError("a quota\nis needed here", remedy="keep it")
        return _Nothing()


class _Nothing:
    def release(self) -> float:
        return 0.0


def test_a_feature_that_stays_is_kept_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = registry.kinds()
    choosy: Kind = msgspec.structs.replace(kinds["native"], make=lambda _: _Choosy())
    monkeypatch.setattr(registry, "kinds", lambda: kinds | {"native": choosy})
    document: dict[str, Any] = {
        "experiment": {"name": "why", "baseline": "native"},
        "environment": [
            {"name": "native", "kind": "native"},
            {"name": "held", "kind": "native", "cpu_quota": 0.5, "huge_pages": False},
        ],
        "workload": [{"name": "work", "program": "command", "command": "true"}],
        "explain": {"environment": "held"},
    }
    plan = explain._plan(document)
    kept = explain._kept(document, plan)
    assert kept == {"kept": ["CPU quota: a quota is needed here"], "causes": ["small pages"]}
    document["explain"] |= kept
    again = explain._plan(document)
    assert explain._kept(document, again) == {}
    assert again.design is not None
    assert [one.name for one in again.design.varied] == ["small pages"]


def _document() -> dict[str, Any]:
    return {
        "experiment": {"name": "why", "baseline": "native", "warmup": 0},
        "stop": {"min": 8, "max": 60, "interval_percent": 1.0},
        "environment": [{"name": "native", "kind": "native"}, {"name": "podman", "kind": "oci"}],
        "workload": [{"name": "work", "program": "command", "command": "true"}],
        "explain": {"environment": "podman", "causes": ["seccomp filter", "network"]},
    }


def _history(plan: Plan, rounds: int, spread: float) -> History:
    rng = np.random.default_rng(1)
    return History(
        0,
        (
            Record(
                cell=cell.id,
                group=cell.group,
                environment=cell.environment,
                workload=cell.workload.name,
                repetition=number,
                started_unix_ns=1,
                samples=(Sample("duration_s", math.exp(rng.normal(0, spread)), "s"),),
            )
            for cell in plan.cells
            for number in range(rounds)
        ),
    )


@pytest.mark.parametrize(
    ("rounds", "spread", "budget_s", "over"),
    [(4, 1e-6, 900.0, False), (8, 1e-6, 900.0, True), (8, 0.2, 900.0, False), (8, 0.2, 0.0, True)],
)
def test_rounds_end_when_all_causes_are_known_or_the_time_is_over(
    rounds: int, spread: float, budget_s: float, over: bool
) -> None:
    plan = explain._plan(_document())
    enough = explain._precise(plan, budget_s, 0.01)
    history = _history(plan, rounds, spread)
    enough(history, Round(0, warmup=False, slot=0))
    assert enough(history, Round(rounds, warmup=False, slot=rounds)) is over


@pytest.mark.parametrize("more", [True, False])
def test_more_arms_follow_where_it_is_not_known_what_acts_together(
    more: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the runs themselves are left out."""
    pairs = (("seccomp filter", "network"), ("overlay", "memory limit"))
    sure = Interval(0.1, 0.3, 0.95, "t")
    seen = Explanation(
        environment="podman",
        baseline="native",
        group="work",
        total=0.5,
        causes=(Cause(name="overlay", effect=0.3), Cause(name="network", effect=0.2)),
        interactions=(Interaction(pairs=pairs, effect=0.2, interval=sure, claimed=True),),
    )
    arms: list[int] = []

    def run(_: Any, document: dict[str, Any], plan: Plan, **__: bool) -> tuple[int, Any]:
        assert plan.design is not None
        arms.append(len(plan.design.arms))
        assert document["explain"].get("fold") == ("overlay" if len(arms) == 2 else None)
        return 0, (seen,)

    monkeypatch.setattr(explain, "_run", run)
    monkeypatch.setattr(explain, "_kept", lambda *_: {})
    causes = ("seccomp filter", "network", "overlay", "memory limit")
    named = [word for cause in causes for word in ("--cause", cause)]
    words = [*named, *(() if more else ("--no-more-arms",)), "--", "true"]
    assert main(["explain", "--in", "podman", *words]) == 0
    assert arms == ([10, 18] if more else [10])
