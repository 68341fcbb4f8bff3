"""Figures of several services beside one batch program."""

from __future__ import annotations

import tomllib

import pytest

from aferir.colocation.further import Further
from aferir.colocation.settings import Sla
from aferir.colocation.trials.arm import Arm, Batch, Loaded, Setup, _table
from aferir.colocation.trials.load import Asked, Load
from aferir.colocation.trials.results import figures
from aferir.colocation.trials.service import Running
from aferir.colocation.trials.study import Cell, Tried

CELL = Cell(
    load=0.5,
    batch=Batch("xz", 1, "true"),
    sla=Sla(0.95, 0.1),
    service="nginx",
    more=(Further(service="memcached", sla=Sla(0.95, 0.01)),),
)


def load(latency_s: float) -> Load:
    """400 requests that took that long each."""
    asked = tuple(Asked(0.01 * k, latency_s, 200, 0) for k in range(400))
    return Load(asked=asked, healthy=latency_s < 1, failed=0)


def arm(policy: str, first_s: float, second_s: float) -> Arm:
    return Arm(
        policy=policy,
        load=load(first_s),
        more=(load(second_s),),
        batch_per_s=10.0,
        batch_cpus=1.0,
        idle_cpus=1.0,
        cpus=2,
        speed=0.0,
        system_s=(),
        own_cpus=0.0,
        own_memory_bytes=0.0,
        leaked_cpus=0.0,
    )


def tried(*arms: Arm) -> Tried:
    return Tried(rate=200.0, arms=arms, alone_per_s=20.0, duration_s=9.0, more_per_s=(1000.0,))


def test_each_service_has_its_quantile_over_its_own_bound_under_every_policy() -> None:
    made = figures(CELL, tried(arm("idle", 0.02, 0.005), arm("aferir", 0.05, 0.009)))
    shares = {s.label: s.values for s in made.series if s.metric == "quantile_of_sla"}
    assert list(shares) == ["nginx", "memcached"]
    assert shares["nginx"] == pytest.approx((0.2, 0.5), rel=1e-3)
    assert shares["memcached"] == pytest.approx((0.5, 0.9), rel=1e-3)
    curves = [s.label for s in made.series if s.metric == "memcached_latency_s"]
    assert curves == ["idle", "aferir"]
    values = {sample.metric: sample.value for sample in made.samples}
    assert values["memcached_requests_per_s"] == 1000.0
    assert values["aferir_worst_of_sla"] == pytest.approx(0.9, rel=1e-3)
    assert made.doubts == ()


def test_requests_that_any_load_generator_sent_late_are_told() -> None:
    made = figures(CELL, tried(arm("idle", 0.02, 1.5)))
    assert [doubt.code for doubt in made.doubts] == ["load-late"]
    assert "aferir_worst_of_sla" not in {sample.metric for sample in made.samples}


def test_a_job_file_has_a_table_for_each_service_with_threads_of_its_own() -> None:
    web = Running(pid=7, latency="nginx:/a b", threads=("^nginx",), targets=())
    search = Running(pid=8, latency="slowlog:/s", java=("\\[search\\]",), targets=())
    setup = Setup(
        web, Sla(0.95, 0.1), 5.0, CELL.batch, more=(Loaded(search, Sla(0.99, 0.0005), 3.0),)
    )
    found = tomllib.loads("\n".join(map(_table, setup.each)))["services"]
    assert found[0]["threads"] == ["^nginx"]
    assert found[1]["java"] == ["\\[search\\]"]
    assert [one["sla"] for one in found] == ["p95=100ms", "p99=0.5ms"]
    assert [one["service"] for one in found] == ["pid:7", "pid:8"]
    assert [one.rate for one in setup.without_load().each] == [0.0, 0.0]
