"""How the life of a cluster is judged."""

from __future__ import annotations

from aferir.bench.cluster_life import judge, judge_leftovers


def test_the_longest_life_is_judged() -> None:
    found = {figure.name: figure for figure in judge({"first_mpi": [3, 4], "destroy": [1, 5.05]})}
    assert found["life.first_mpi"].holds
    assert not found["life.destroy"].holds
    assert found["life.destroy"].value == 5.05


def test_anything_left_is_too_much() -> None:
    assert judge_leftovers([], 3).holds
    assert not judge_leftovers(["mount /x"], 3).holds
