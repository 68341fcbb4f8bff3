"""Judgement of a cluster's life cycle, and selection of a bench's parts."""

from __future__ import annotations

import pytest

from aferir.errors import UsageError
from aferir.model.bench import Figure
from aferir.selftest.leftovers import judge_leftovers
from aferir.selftest.options import BenchOptions, Note
from benchmarks.cluster.life import Plan, judge
from benchmarks.parts import Part, run_parts


def test_the_longest_life_is_judged() -> None:
    plan = Plan(
        part="life",
        kind="container",
        nodes=4,
        lives=2,
        creations=0,
        targets_s={"first_mpi": 20, "destroy": 5},
    )
    seconds = {"first_mpi": [3.0, 4.0], "destroy": [1.0, 5.05]}
    found = {figure.name: figure for figure in judge(plan, seconds)}
    assert found["life.first_mpi"].holds
    assert not found["life.destroy"].holds
    assert found["life.destroy"].value == 5.05


def test_anything_left_is_too_much() -> None:
    assert judge_leftovers("life.left_behind", [], 3).holds
    assert not judge_leftovers("life.left_behind", ["mount /x"], 3).holds


def part(name: str) -> Part:
    figure = Figure(name=name, value=1.0, unit="s", n=1)

    def measure(_: BenchOptions, note: Note) -> list[Figure]:
        note(name, 0.5)
        return [figure]

    return measure


def test_parts_are_chosen_by_the_beginning_of_their_names_and_share_the_progress() -> None:
    parts = {name: part(name) for name in ("life", "network", "lbm")}
    shown: list[float] = []
    found = run_parts("b", parts, BenchOptions(), lambda _, share: shown.append(share))
    assert [figure.name for figure in found.figures] == ["life", "network", "lbm"]
    assert shown == pytest.approx([0.5 / 3, 1.5 / 3, 2.5 / 3])
    some = run_parts("b", parts, BenchOptions(only=("l",)), lambda *_: None)
    assert [figure.name for figure in some.figures] == ["life", "lbm"]
    with pytest.raises(UsageError, match="no such part"):
        run_parts("b", parts, BenchOptions(only=("x",)), lambda *_: None)
