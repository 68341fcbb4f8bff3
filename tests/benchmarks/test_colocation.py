"""Judgement of one pass over all arms, and of pairs of runs that decide unclear cases."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence

import pytest

from aferir.colocation.settings import Sla
from aferir.colocation.trials.arm import Arm
from aferir.colocation.trials.load import Asked, Load
from aferir.errors import UsageError
from aferir.model.bench import Figure
from aferir.selftest.options import BenchOptions
from benchmarks.colocation.cells import by_service, chosen
from benchmarks.colocation.judge import Again, Pair, figures, judge
from benchmarks.parts import Part, run_parts

SLA = Sla(quantile=0.95, bound_s=0.1)


def arm(
    policy: str,
    batch_per_s: float = 10.0,
    latency_s: float = 0.01,
    *,
    batch_cpus: float = 1.0,
    idle_cpus: float = 1.0,
) -> Arm:
    """An arm in which every request took that long; the SLA is 100 ms."""
    asked = tuple(Asked(0.01 * k, latency_s, 200, 0) for k in range(400))
    return Arm(
        policy=policy,
        load=Load(asked=asked, healthy=True, failed=0),
        batch_per_s=batch_per_s,
        batch_cpus=batch_cpus,
        idle_cpus=idle_cpus,
        cpus=2,
        speed=0.0,
        system_s=(),
        own_cpus=0.0,
        own_memory_bytes=0.0,
        leaked_cpus=0.0,
    )


def pairs(ratios: Mapping[str, Sequence[float]], *, latency_s: float = 0.01) -> Again:
    """Pairs of runs with those ratios of batch work; fails if another arm is requested."""
    return lambda other: [
        Pair(SLA, arm("aferir", ratio), arm(other, 1.0, latency_s)) for ratio in ratios[other]
    ]


def test_an_arm_that_seems_to_do_more_is_looked_at_again_in_pairs_and_no_other() -> None:
    arms = [arm("alone", 0.0), arm("idle", 11.0), arm("fifo", 14.0), arm("aferir", 10.0)]
    found = judge("cell", SLA, arms, pairs({"fifo": [1.1, 0.7, 0.9]}))
    assert found.met
    assert found.near == pytest.approx((1.1 * 0.7 * 0.9) ** (1 / 3))
    assert found.of_idle == 10 / 11


def test_an_arm_that_breaks_the_sla_in_a_pair_is_not_counted_as_keeping_it() -> None:
    arms = [arm("alone", 0.0), arm("idle", 10.0), arm("fifo", 14.0), arm("aferir", 10.0)]
    found = judge("cell", SLA, arms, pairs({"fifo": [0.5, 0.5]}, latency_s=0.2))
    assert found.near == 1.0


def test_less_work_than_under_plain_idle_is_measured_again_and_reported() -> None:
    arms = [arm("alone", 0.0), arm("idle", 20.0, 0.3), arm("aferir", 10.0)]
    found = judge("cell", SLA, arms, pairs({"idle": [0.6, 0.7, 0.65]}))
    assert found.of_idle == pytest.approx((0.6 * 0.7 * 0.65) ** (1 / 3))
    assert "aferir over idle 0.60 0.70 0.65" in found.words
    assert [figure.holds for figure in figures([found])] == [True, True, False]


@pytest.mark.parametrize(
    ("ratios", "taken"),
    [([0.9, 0.901], 6), ([0.5, 0.6], 6), ([0.9, 1.0], 12), ([1.2, 1.35], 6)],
    ids=["known", "too little", "in doubt", "enough"],
)
def test_pairs_are_taken_until_their_ratio_is_known_or_clear(
    ratios: Sequence[float], taken: int
) -> None:
    arms = [arm("alone", 0.0), arm("idle", 10.0), arm("fifo", 14.0), arm("aferir", 10.0)]
    endless = (
        Pair(SLA, arm("aferir", ratio), arm("fifo", 1.0)) for ratio in itertools.cycle(ratios)
    )
    assert f"in {taken} of {taken}" in judge("cell", SLA, arms, lambda _: endless).words
    some = (Pair(SLA, arm("aferir", ratio), arm("fifo", 1.0)) for ratio in itertools.cycle(ratios))
    assert "in 1 of 1" in judge("cell", SLA, arms, lambda _: some, 1).words


def test_no_more_pairs_are_measured_with_an_arm_that_breaks_the_sla() -> None:
    arms = [arm("alone", 0.0), arm("idle", 10.0), arm("fifo", 14.0), arm("aferir", 10.0)]
    late = itertools.chain([0.01, 0.01], itertools.repeat(0.3))
    endless = (Pair(SLA, arm("aferir", 0.5), arm("fifo", 1.0, latency_s)) for latency_s in late)
    found = judge("cell", SLA, arms, lambda _: endless)
    assert "in 2 of 3" in found.words
    assert found.near == 1.0


def test_an_arm_that_breaks_the_sla_after_the_first_pairs_is_still_compared() -> None:
    arms = [arm("alone", 0.0), arm("idle", 10.0), arm("fifo", 14.0), arm("aferir", 10.0)]
    turns = zip(itertools.cycle([0.85, 0.98]), [*[0.01] * 6, *[0.3] * 9], strict=False)
    pairs = (Pair(SLA, arm("aferir", ratio), arm("fifo", 1.0, late)) for ratio, late in turns)
    found = judge("cell", SLA, arms, lambda _: pairs)
    assert "in 6 of 12" in found.words
    assert found.near == pytest.approx((0.85 * 0.98) ** 0.5, abs=0.01)


def test_no_batch_work_is_expected_in_the_time_that_the_service_needed() -> None:
    alone = arm("alone", 0.0, idle_cpus=0.5)
    ours = arm("aferir", 0.24)
    assert Pair(SLA, ours, arm("idle", latency_s=0.3, batch_cpus=2.0), alone).due == 0.25
    assert Pair(SLA, ours, arm("idle", latency_s=0.01, batch_cpus=2.0), alone).due == 1.0
    assert Pair(SLA, ours, arm("idle", latency_s=0.3, batch_cpus=0.4), alone).due == 1.0
    slow = [Pair(SLA, ours, arm("idle", 1.0, 0.3, batch_cpus=2.0), alone)]
    arms = [alone, arm("idle", 1.0, 0.3, batch_cpus=2.0), arm("aferir", 0.24)]
    found = judge("cell", SLA, arms, lambda _: slow)
    assert found.of_idle == pytest.approx(0.96)
    assert found.of_idle_whole == pytest.approx(0.24)
    judged = figures([found])[2]
    assert judged.holds
    assert judged.note.endswith("of all of it 0.24")


def test_pairs_of_a_time_when_the_service_alone_broke_its_sla_do_not_count() -> None:
    idle, alone = arm("idle", 1.0, 0.3, batch_cpus=2.0), arm("alone", 0.0, idle_cpus=0.5)
    good = Pair(SLA, arm("aferir", 0.2), idle, alone)
    slow = Pair(SLA, arm("aferir", 0.1), idle, arm("alone", 0.0, 0.3, idle_cpus=0.0))
    arms = [alone, idle, arm("aferir", 0.2)]
    assert judge("cell", SLA, arms, lambda _: [slow, good, slow]).of_idle == pytest.approx(0.8)
    assert judge("cell", SLA, arms, lambda _: [slow]).of_idle is None


def test_a_cell_in_which_the_service_alone_breaks_its_sla_does_not_count() -> None:
    broken = judge(
        "slow", SLA, [arm("alone", 0.0, 0.3), arm("idle"), arm("aferir", 1.0)], pairs({})
    )
    assert broken.met is None
    good = judge("quick", SLA, [arm("alone", 0.0), arm("idle"), arm("aferir", 10.0)], pairs({}))
    assert [figure.n for figure in figures([broken, good])] == [1, 1, 1]
    assert [figure.holds for figure in figures([broken])] == [None, None, None]


def test_a_cell_in_which_ours_breaks_the_sla_is_a_miss() -> None:
    arms = [arm("alone", 0.0), arm("idle"), arm("aferir", 10.0, 0.3)]
    assert figures([judge("cell", SLA, arms, pairs({}))])[0].holds is False


def test_without_the_name_of_a_cell_the_bench_takes_a_few_of_nginx() -> None:
    assert [cell.name for cell in chosen(["sla"], quick=True)] == ["sla.nginx.50.xz.4"]
    few = chosen([], quick=False)
    assert {(cell.service, cell.load_percent) for cell in few} == {
        ("nginx", load) for load in (25, 50, 75)
    }


def test_a_cell_or_the_beginning_of_its_name_chooses_cells_of_the_whole_matrix() -> None:
    only = ["sla.memcached.75.gcc.6", "sla.opensearch.25.npb-cg", "kill"]
    found = chosen(only, quick=False)
    assert [cell.name for cell in found] == [
        "sla.memcached.75.gcc.6",
        *(f"sla.opensearch.25.npb-cg.{threads}" for threads in (1, 2, 4, 6)),
    ]
    assert [name for name, _ in by_service(found)] == ["memcached", "opensearch"]


@pytest.mark.parametrize("name", ["sla.nginx.5", "sla.apache", "sla.nginx.50.xz.3", "sla."])
def test_an_unknown_cell_is_refused_with_the_list_of_cells(name: str) -> None:
    with pytest.raises(UsageError, match="no such cell"):
        chosen([name], quick=False)


@pytest.mark.parametrize(
    ("wish", "ran"), [("sla.nginx", ["sla"]), ("s", ["sla", "step"]), ("slack", [])]
)
def test_a_part_runs_where_its_beginning_or_a_case_of_it_is_named(
    wish: str, ran: list[str]
) -> None:
    def part(name: str) -> Part:
        return lambda *_: [Figure(name=name, value=1.0, unit="", n=1)]

    parts = {name: part(name) for name in ("kill", "sla", "step")}
    with pytest.raises(UsageError) if not ran else contextlib.nullcontext():
        found = run_parts("colocate", parts, BenchOptions(only=(wish,)), lambda *_: None)
        assert [figure.name for figure in found.figures] == ran
