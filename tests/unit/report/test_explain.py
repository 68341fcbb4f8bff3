from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import pytest

from aferir.model.design import Arm, Design, Varied
from aferir.model.plan import Cell, EnvironmentSpec, Plan, StoppingRule, WorkloadSpec
from aferir.model.record import Failure, Record, Sample
from aferir.report.analyse import analyse
from aferir.report.causes import Explanation
from aferir.report.explain import explain, suspects
from aferir.report.opening import opening
from aferir.report.write.html import html
from aferir.statistics.factorial import fold_over, fraction

NAMES = ("seccomp filter", "network", "overlay", "memory limit")
ROUNDS = 10


def plan_for(names: Sequence[str] = NAMES, fold: int | None = None, metric: str = "") -> Plan:
    runs = fraction(len(names))
    folded = runs if fold is None else fold_over(runs, fold)
    arms = [Arm(f"box[{n}]" if n else "box", run) for n, run in enumerate(folded)]
    arms += [Arm("box[again]", runs[0]), Arm("box[bare, again]", runs[-1])]
    design = Design(
        environment="box",
        baselines=("native", "native[again]"),
        varied=tuple(Varied(name=n, remedy=f"no {n}", gives_up="it") for n in names),
        arms=tuple(arms),
    )
    environments = [*design.baselines, *(arm.environment for arm in arms)]
    work = WorkloadSpec(name="work", program="command", parameters={}, time_limit_s=9.0)
    return Plan(
        name="explain",
        title="",
        baseline="native",
        seed=1,
        order="interleaved",
        warmup=0,
        stop=StoppingRule(minimum=ROUNDS, maximum=ROUNDS, emulated=1),
        time_limit_s=99.0,
        metric=metric,
        design=design,
        environments=tuple(
            EnvironmentSpec(name=name, kind="native", cpus=1, memory_bytes=2**30)
            for name in environments
        ),
        cells=tuple(
            Cell(id=f"{name}/work", group="work", environment=name, workload=work)
            for name in environments
        ),
    )


def records_of(
    plan: Plan,
    costs: Mapping[str, float],
    *,
    own: float = 0.0,
    together: Mapping[tuple[str, str], float] | None = None,
    noise: float = 0.0,
    seed: int = 1,
    higher: bool = False,
) -> list[Record]:
    """Repetitions in which the costs, as logarithms, add up; `own` is of the box without any."""
    assert plan.design is not None
    rng = np.random.default_rng(seed)
    drift = np.cumsum(rng.normal(0, 0.1, ROUNDS))
    names = [one.name for one in plan.design.varied]
    levels = {arm.environment: arm.levels for arm in plan.design.arms}
    found = []
    for environment in (spec.name for spec in plan.environments):
        has = {n for n, x in zip(names, levels.get(environment, ()), strict=False) if x > 0}
        log = sum(costs.get(name, 0.0) for name in has) + own * (environment in levels)
        log += sum(x for pair, x in (together or {}).items() if has >= {*pair})
        for number in range(ROUNDS):
            value = math.exp((-log if higher else log) + drift[number] + rng.normal(0, noise))
            sample = Sample(plan.metric or "duration_s", value, "s")
            better = msgspec.structs.replace(sample, better="higher") if higher else sample
            found.append(
                Record(
                    cell=f"{environment}/work",
                    group="work",
                    environment=environment,
                    workload="work",
                    repetition=number,
                    started_unix_ns=1,
                    samples=(better,),
                )
            )
    return found


def explained(plan: Plan, records: Sequence[Record]) -> Explanation:
    found = explain(plan, records)
    assert not found.missing
    return found.explanations[0]


def effects(one: Explanation) -> dict[str, float]:
    return {cause.name: cause.effect for cause in one.causes}


def test_known_costs_come_out_and_add_up_to_the_whole() -> None:
    plan = plan_for()
    planted = {"seccomp filter": 0.3, "network": 0.1, "overlay": -0.05}
    one = explained(plan, records_of(plan, planted, own=0.02))
    whole = math.expm1(0.37)
    assert one.total == pytest.approx(whole)
    for name, log in planted.items():
        assert effects(one)[name] == pytest.approx(log * whole / 0.37)
    assert effects(one)["memory limit"] == pytest.approx(0.0, abs=1e-9)
    assert one.rest == pytest.approx(0.02 * whole / 0.37)
    assert [cause.name for cause in one.claimed] == ["seccomp filter", "network", "overlay"]


def test_what_two_cost_together_is_shared_between_them() -> None:
    plan = plan_for(NAMES[:3])
    both = {("seccomp filter", "network"): 0.2}
    one = explained(plan, records_of(plan, {"seccomp filter": 0.3}, together=both))
    scale = math.expm1(0.5) / 0.5
    assert effects(one)["seccomp filter"] == pytest.approx(0.4 * scale)
    assert effects(one)["network"] == pytest.approx(0.1 * scale)
    assert one.rest == pytest.approx(0.0, abs=1e-9)
    sure = [each for each in one.interactions if each.claimed]
    assert [each.pairs for each in sure] == [(("seccomp filter", "network"),)]
    assert sure[0].effect == pytest.approx(0.2 * scale)
    assert suspects(one) == ()


def test_more_arms_tell_which_two_act_together() -> None:
    both = {("seccomp filter", "overlay"): 0.2}
    costs = {"seccomp filter": 0.3}
    few = plan_for()
    mixed = explained(few, records_of(few, costs, together=both))
    assert suspects(mixed)[0] == "seccomp filter"
    claimed = [each for each in mixed.interactions if each.claimed]
    assert [len(each.pairs) for each in claimed] == [2]
    more = plan_for(fold=0)
    clear = explained(more, records_of(more, costs, together=both))
    claimed = [each for each in clear.interactions if each.claimed]
    assert [each.pairs for each in claimed] == [(("seccomp filter", "overlay"),)]
    assert suspects(clear) == ()


def test_intervals_hold_the_truth_and_nothing_false_is_claimed() -> None:
    plan = plan_for()
    held = rest = false = 0
    for seed in range(60):
        records = records_of(plan, {"network": 0.2}, own=0.05, noise=0.04, seed=seed)
        one = explained(plan, records)
        scale = math.expm1(0.25) / 0.25
        truth = {"network": 0.2 * scale}
        held += all(
            cause.interval is not None and cause.interval.contains(truth.get(cause.name, 0.0))
            for cause in one.causes
        )
        assert one.rest_interval is not None
        rest += one.rest_interval.contains(0.05 * scale)
        false += any(cause.name != "network" for cause in one.claimed)
        assert one.claimed[0].name == "network"
    assert held >= 53
    assert rest >= 53
    assert false == 0


def test_a_figure_that_is_better_the_higher_costs_what_is_lost_of_it() -> None:
    plan = plan_for(metric="rate_rps")
    one = explained(plan, records_of(plan, {"network": 0.1}, higher=True))
    assert one.higher
    assert one.total == pytest.approx(math.expm1(0.1))
    assert one.claimed[0].name == "network"


def test_an_arm_that_failed_is_named() -> None:
    plan = plan_for()
    failed = [
        msgspec.structs.replace(one, failure=Failure("program", "it failed"), samples=())
        if one.environment == "box[3]"
        else one
        for one in records_of(plan, {})
    ]
    found = explain(plan, failed)
    assert found.explanations == ()
    assert found.missing == (
        "box on work is not explained: box[3] has 0 repetitions with duration_s, and 3 are needed.",
    )
    assert opening(analyse(plan, failed)) == found.missing


def test_a_plan_without_a_design_explains_nothing() -> None:
    plan = msgspec.structs.replace(plan_for(), design=None)
    assert explain(plan, records_of(plan_for(), {})).explanations == ()


def test_the_report_opens_with_the_causes_and_their_remedies() -> None:
    plan = plan_for()
    evaluation = analyse(plan, records_of(plan, {"seccomp filter": 0.3}, noise=0.002))
    first, *others = opening(evaluation)
    assert first.startswith("box costs +35 % [")
    assert "against native: seccomp filter +35 % [" in first
    assert others == ["Seccomp filter (+35 %): no seccomp filter; this gives up it."]
    page = html(evaluation)
    assert "What box costs on work, by cause" in page
    assert "more than alone" in page
