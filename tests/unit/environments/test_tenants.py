"""Several instances of one environment at once: their resources, and their results."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from aferir.environments.native import Native
from aferir.environments.tenants import Tenants, allocate, of_tenant
from aferir.errors import MissingError, ProgramError, TimeoutExpired, UsageError
from aferir.model.plan import EnvironmentSpec
from aferir.model.record import Sample, Series, Warning
from aferir.runner.tenancy import together
from tests.unit.runner.fakes import FakeEnvironment, carry_out, experiment, of, plan_of

TWO = EnvironmentSpec(name="native", kind="native", cpus=1, memory_bytes=0, tenants=2)


def native(tenants: int = 2) -> Tenants:
    made = allocate(Native(), msgspec.structs.replace(TWO, tenants=tenants))
    assert isinstance(made, Tenants)
    return made


def test_tenants_get_cpus_next_to_each_other_and_share_past_the_last() -> None:
    spec = EnvironmentSpec(name="a", kind="native", cpus=2, memory_bytes=1, tenants=3)
    given = [of_tenant(spec, tenant, (0, 1, 2, 3)) for tenant in range(3)]
    assert [one.pin for one in given] == [(0, 1), (2, 3), (0, 1)]
    assert {one.tenants for one in given} == {1}
    pinned = msgspec.structs.replace(spec, pin=(5, 6, 7))
    assert [of_tenant(pinned, k, (0,)).pin for k in range(3)] == [(5, 6), (7, 5), (6, 7)]


def test_what_is_run_runs_in_all_of_them_at_the_same_time(tmp_path: Path) -> None:
    """Each waits for the other's file: one after the other would never end."""
    script = 'touch "$1/$$"; until [ $(ls "$1" | wc -l) = 2 ]; do sleep 0.02; done; echo met'
    tenants = native()
    done = tenants.run(["sh", "-c", script, "sh", str(tmp_path)], timeout_s=None)
    assert [done.stdout, *(other.stdout for other in done.others)] == ["met\n", "met\n"]
    tenants.release()


def test_a_time_limit_ends_all_of_them() -> None:
    tenants = native()
    with pytest.raises(TimeoutExpired):
        tenants.run(["sleep", "6000"], timeout_s=0.3)
    tenants.release()


def test_a_tenant_that_starts_later_does_not_start_once_another_has_failed(tmp_path: Path) -> None:
    spec = msgspec.structs.replace(TWO, stagger=3600.0)
    tenants = allocate(Native(), spec)
    with pytest.raises(ProgramError, match="exit"):
        tenants.run(["sh", "-c", 'touch "$1/$$"; exit 3', "sh", str(tmp_path)])
    assert len(list(tmp_path.iterdir())) == 1
    tenants.release()


def test_one_that_cannot_be_allocated_gives_back_the_others() -> None:
    class Second(FakeEnvironment):
        def allocate(self, spec: EnvironmentSpec):  # type: ignore[no-untyped-def]  # noqa: ANN202
            if self.log:
                raise MissingError("full")
            return super().allocate(spec)

    environment = Second("container")
    with pytest.raises(MissingError, match="full"):
        allocate(environment, TWO)
    assert [line.split()[0] for line in map(str, environment.log)][-1].startswith("release")


def test_figures_are_means_and_each_tenant_has_its_own() -> None:
    curve = Series(metric="latency_s", unit="s", values=(1, 2), along="size", at=(1.0, 2.0))
    doubt = Warning("busy", "it was busy")
    first = (Sample("duration_s", 2.0, "s"), Sample("only_here_s", 1.0, "s"), curve, doubt)
    second = (Sample("duration_s", 4.0, "s"), curve, doubt)
    assert together([first]) == first
    found = together([first, second])
    assert [f for f in found if isinstance(f, Sample)] == [Sample("duration_s", 3.0, "s")]
    series = [f for f in found if isinstance(f, Series)]
    assert (series[0].metric, series[0].along, series[0].values) == (
        "duration_s",
        "tenant",
        (2.0, 4.0),
    )
    assert [s.label for s in series[1:]] == ["tenant 1", "tenant 2"]
    assert [f for f in found if isinstance(f, Warning)] == [doubt]


def test_a_run_records_the_mean_and_every_tenant(tmp_path: Path) -> None:
    durations = itertools.cycle((1.0, 2.0))

    def behave(_name: str, _command: Sequence[str], _count: int) -> str:
        return json.dumps({"duration_s": next(durations)})

    content = experiment(
        environments=["container"], stop="repetitions = 2", header='baseline = "container"'
    ).replace(b'kind = "container"', b'kind = "container"\ntenants = 2')
    done = carry_out(tmp_path, content, FakeEnvironment("container", behave=behave))
    for record in of(done, "container/a"):
        (duration,) = (s.value for s in record.samples if s.metric == "duration_s")
        (series,) = record.series
        assert duration == pytest.approx(1.5)
        assert sorted(series.values) == [1.0, 2.0]


def test_a_tenant_that_fails_fails_the_repetition(tmp_path: Path) -> None:
    verified = itertools.cycle((True, False))

    def behave(_name: str, _command: Sequence[str], _count: int) -> str:
        return json.dumps({"duration_s": 1, "verified": next(verified)})

    content = experiment(
        environments=["container"], stop="repetitions = 1", header='baseline = "container"'
    ).replace(b'kind = "container"', b'kind = "container"\ntenants = 2')
    done = carry_out(tmp_path, content, FakeEnvironment("container", behave=behave))
    failures = [record.failure for record in of(done, "container/a")]
    assert all(failure is not None and failure.code == "unverified" for failure in failures)


def test_tenants_that_do_not_fit_into_the_host_are_refused() -> None:
    text = experiment(environments=["container"]).replace(
        b'kind = "container"', b'kind = "container"\nmemory = "3 GiB"\ntenants = 2'
    )
    with pytest.raises(UsageError, match="2 instances of `container` with 3 GiB each"):
        plan_of(text)
