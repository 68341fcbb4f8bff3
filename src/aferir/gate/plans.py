"""Plans of a gate: the same program twice, and the two versions. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from aferir.model.plan import (
    Cell,
    EnvironmentSpec,
    Parameter,
    Plan,
    StoppingRule,
    WorkloadSpec,
)

BASE, HEAD, AGAIN = "base", "head", "base-again"
GROUP = "program"


class Arm(msgspec.Struct, frozen=True, kw_only=True):
    """One version of the program, as parameters of the program `command`."""

    parameters: dict[str, Parameter]


def plan_of(
    name: str,
    arms: Mapping[str, Arm],
    where: EnvironmentSpec,
    *,
    rounds: int,
    warmup: int,
    budget_s: float,
    limit_s: float,
    seed: int = 1,
) -> Plan:
    """Return the plan of a run that compares arms: each is an environment named after the arm.

    So the arms run next to each other in every round. `where` is the environment in which all of
    them run; the first one is the baseline.
    """
    specs = tuple(msgspec.structs.replace(where, name=arm) for arm in arms)
    return Plan(
        name=name,
        title=name,
        baseline=specs[0].name,
        seed=seed,
        order="interleaved",
        warmup=warmup,
        stop=StoppingRule(minimum=rounds, maximum=rounds, emulated=rounds),
        time_limit_s=budget_s,
        environments=specs,
        cells=tuple(
            Cell(
                id=f"{arm}/{GROUP}",
                group=GROUP,
                environment=arm,
                workload=WorkloadSpec(
                    name=GROUP,
                    program="command",
                    parameters=made.parameters,
                    time_limit_s=limit_s,
                ),
            )
            for arm, made in arms.items()
        ),
    )
