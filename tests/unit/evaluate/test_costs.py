from __future__ import annotations

import math

import msgspec
import pytest

from aferir.evaluate.costs import Cost, costs
from aferir.evaluate.profile import (
    Elasticity,
    Energy,
    General,
    Profile,
    TimePrecision,
    Weights,
)
from aferir.model.plan import ServerSpec
from aferir.report.model import AllocationResult, Evaluation, IoStudy
from aferir.statistics.summary import summarise
from tests.unit.report.published.runs import (
    Made,
    container,
    cost,
    evaluated,
    guest,
    native,
    with_costs,
)

PROFILE = Profile(
    general=General(runs=("r",)),
    weights=Weights(performance=1),
    energy=Energy(idle=0.7),
    elasticity=Elasticity(use=100.0),
    time_precision=TimePrecision(tolerated=1e-6),
    price={"native": 1.0, "container": 3.0},
)


def found(*runs: Evaluation, profile: Profile = PROFILE) -> dict[tuple[str, str], Cost]:
    return {(one.criterion, one.environment): one for one in costs(profile, runs, "native")}


def factor(one: Cost) -> float:
    return math.exp(one.log.value)


def programs(*times: tuple[str, float]) -> Evaluation:
    """Native and container on programs, on which the container takes so many times as long."""
    return evaluated(
        *(
            Made(spec=spec, program="npb", samples={"duration_s": seconds}, workload=name)
            for name, more in times
            for spec, seconds in ((native(), 1.0), (container(), more))
        )
    )


def test_performance_is_the_geometric_mean_over_groups() -> None:
    costs_ = found(programs(("a", 2.0), ("b", 8.0)))
    assert factor(costs_["performance", "native"]) == 1.0
    assert factor(costs_["performance", "container"]) == pytest.approx(4.0)
    assert costs_["performance", "container"].figures == 2


def test_only_groups_of_all_environments_are_compared() -> None:
    """The guest ran one program of two, so the others are judged by that one as well."""
    both = programs(("a", 2.0), ("b", 8.0))
    one = evaluated(
        *(
            Made(spec=spec, program="npb", samples={"duration_s": seconds}, workload=name)
            for name, spec, seconds in (
                ("a", native(), 1.0),
                ("a", container(), 2.0),
                ("a", guest(), 3.0),
                ("b", native(), 1.0),
                ("b", container(), 8.0),
            )
        )
    )
    assert factor(found(both)["performance", "container"]) == pytest.approx(4.0)
    assert factor(found(one)["performance", "container"]) == pytest.approx(2.0)
    assert factor(found(one)["performance", "vm"]) == pytest.approx(3.0)
    general = General(runs=("r",), environments=("native", "container"))
    chosen = found(one, profile=msgspec.structs.replace(PROFILE, general=general))
    assert factor(chosen["performance", "container"]) == pytest.approx(4.0), "without the guest"


def test_each_group_counts_once_however_many_figures_an_environment_has_in_it() -> None:
    """The container ran the second group in two sizes; the host needs as much in each group."""
    run = evaluated(
        *(
            Made(spec=spec, program="npb", samples={"duration_s": seconds}, workload=name)
            for name, spec, seconds in (
                ("a", native(), 1.0),
                ("b", native(), 1.0),
                ("a", container("container[cpus=1]"), 2.0),
                ("a", container("container[cpus=2]"), 2.0),
                ("b", container("container[cpus=1]"), 8.0),
            )
        )
    )
    one = found(run)["performance", "container"]
    assert one.figures == 3
    assert factor(one) == pytest.approx(4.0)


def test_runs_with_another_baseline_say_nothing_of_performance() -> None:
    run = msgspec.structs.replace(programs(("a", 2.0)), baseline="container")
    assert ("performance", "container") not in found(run)


def test_energy_is_of_one_result_at_the_idle_power_of_the_profile() -> None:
    made = [Made(spec=spec, program="index", workload="index") for spec in (native(), container())]
    study = IoStudy(
        server=ServerSpec(cores=2, peak_w=400.0, idle_fractions=(0.0, 0.7)),
        cells=(cost(made[0], 1000.0, joules=1.0), cost(made[1], 1000.0, joules=5.0)),
        results_per_day={},
    )
    run = with_costs(evaluated(*made), study)
    energy = found(run)["energy", "container"]
    assert factor(energy) == pytest.approx(10.0), "twice that of idle power 0"
    assert energy.log.error == pytest.approx(0.02 * 5 / 10)
    other = msgspec.structs.replace(PROFILE, energy=Energy(idle=0.3))
    assert ("energy", "container") not in found(run, profile=other)


def test_elasticity_is_what_allocation_and_release_add_to_the_time_of_use() -> None:
    allocation = AllocationResult(
        environment="vm",
        kind="vm",
        emulated=True,
        phases=(),
        total=summarise([19.0, 20.0, 21.0]),
        release=summarise([5.0, 5.0, 5.0]),
        failures=(),
        warnings=(),
    )
    run = msgspec.structs.replace(programs(("a", 1.0)), allocations=(allocation,))
    one = found(run)["elasticity", "vm"]
    assert factor(one) == pytest.approx(1.25)
    assert one.emulated
    assert one.log.error == pytest.approx(1 / math.sqrt(3) / 100 / 1.25)


def test_time_precision_is_the_error_over_the_tolerated_one() -> None:
    run = evaluated(
        *(
            Made(spec=spec, program="clock", samples={"read_of_monotonic_s": seconds})
            for spec, seconds in ((native(), 1e-6), (container(), 3e-6))
        )
    )
    costs_ = found(run)
    assert factor(costs_["time-precision", "native"]) == pytest.approx(2.0)
    assert factor(costs_["time-precision", "container"]) == pytest.approx(4.0)
    assert ("performance", "container") not in costs_, "studies of clocks do no work"


def test_isolation_is_beside_neighbours_against_alone() -> None:
    run = evaluated(
        *(
            Made(
                spec=container(f"container[tenants={n}]", n),
                program="npb",
                factors={"environment.tenants": n},
                samples={"duration_s": seconds},
            )
            for n, seconds in ((1, 2.0), (2, 3.0))
        ),
        baseline="container",
    )
    one = found(run)["isolation", "container"]
    assert factor(one) == pytest.approx(1.5)
    assert one.log.error is not None


def test_studies_that_measure_for_a_given_time_say_nothing_of_isolation() -> None:
    run = evaluated(
        *(
            Made(
                spec=container(f"container[tenants={n}]", n),
                program="clock",
                factors={"environment.tenants": n},
            )
            for n in (1, 2)
        ),
        baseline="container",
    )
    assert ("isolation", "container") not in found(run)


def test_prices_are_exact() -> None:
    price = found()["price", "container"]
    assert factor(price) == pytest.approx(3.0)
    assert price.log.error == 0.0
