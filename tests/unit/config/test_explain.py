from __future__ import annotations

import copy
from typing import Any

import pytest

from aferir import config
from aferir.errors import UsageError
from aferir.model.plan import HostLimits, Plan
from aferir.registry import all_programs, kinds

HOST = HostLimits(cpus=(0, 1), memory_bytes=2**34)
DOCUMENT: dict[str, Any] = {
    "experiment": {"name": "why", "baseline": "native"},
    "environment": [
        {"name": "native", "kind": "native"},
        {"name": "podman", "kind": "oci"},
    ],
    "workload": [{"name": "work", "program": "command", "command": "true"}],
    "explain": {"environment": "podman"},
}


def document(*, explain: dict[str, Any] | None = None, **keys: object) -> dict[str, Any]:
    made = copy.deepcopy(DOCUMENT)
    made["environment"][1] |= keys
    made["explain"] |= explain or {}
    return made


def plan_of(made: dict[str, Any]) -> Plan:
    return config.plan_of(made, HOST, all_programs(), kinds())


def names(plan: Plan) -> list[str]:
    assert plan.design is not None
    return [one.name for one in plan.design.varied]


def test_arms_lie_between_the_baseline_and_the_whole_environment() -> None:
    plan = plan_of(document(explain={"causes": ["seccomp filter", "network"]}))
    assert plan.design is not None
    specs = {spec.name: spec for spec in plan.environments}
    assert list(specs) == [
        "native",
        "native[again]",
        "podman",
        "podman[without network]",
        "podman[without seccomp filter]",
        "podman[bare]",
        "podman[again]",
        "podman[bare, again]",
    ]
    assert {cell.group for cell in plan.cells} == {"work"}
    for arm in plan.design.arms:
        spec: Any = specs[arm.environment]
        assert (spec.seccomp, spec.network) == (
            "default" if arm.levels[0] > 0 else "unconfined",
            "none" if arm.levels[1] > 0 else "host",
        )
    kept = {one.name: one.why for one in plan.design.kept}
    assert kept["overlay"] == "nobody asked for that"


def test_only_what_an_environment_has_is_taken_away() -> None:
    usual = names(plan_of(document()))
    assert "user namespace" not in usual
    assert {"seccomp filter", "network", "overlay", "memory limit"} <= {*usual}
    more = names(plan_of(document(user_namespace=True, cpu_quota=0.5, seccomp="unconfined")))
    assert {*more} == {*usual, "user namespace", "CPU quota"} - {"seccomp filter"}


def test_the_memory_limit_gives_way_to_all_that_the_host_has() -> None:
    plan = plan_of(document(explain={"causes": ["memory limit"]}, memory="64 MiB"))
    assert {spec.name: spec.memory_bytes for spec in plan.environments} == {
        "native": 2**34,
        "native[again]": 2**34,
        "podman": 2**26,
        "podman[bare]": 2**34,
        "podman[again]": 2**26,
        "podman[bare, again]": 2**34,
    }


def test_native_itself_can_be_explained_by_its_limits() -> None:
    made = document(cpu_quota=0.5, pin=[0], huge_pages=False)
    made["environment"][1]["kind"] = "native"
    assert names(plan_of(made)) == ["CPUs that it is held to", "CPU quota", "small pages"]


@pytest.mark.parametrize("kind", [name for name, kind in kinds().items() if kind.features])
def test_every_feature_of_every_kind_can_be_written(kind: str) -> None:
    """With its own keys the table of a kind stays right, whichever feature is taken away."""
    made = document()
    made["environment"][1] = {"name": "podman", "kind": kind}
    if kinds()[kind].most_cpus is not None:
        made["environment"][1]["cpus"] = kinds()[kind].most_cpus
    declared = {field.key for field in kinds()[kind].keys}
    for feature in kinds()[kind].features:
        assert {*feature.without} <= declared
        one = copy.deepcopy(made)
        del one["explain"]
        own = {key: value for key, value in feature.without.items() if value is not None}
        one["environment"][1] |= {key: "1 GiB" if key == "memory" else v for key, v in own.items()}
        plan_of(one)
    assert len({one.name for one in kinds()[kind].features}) == len(kinds()[kind].features)


def test_what_cannot_be_taken_away_is_kept_with_its_reason() -> None:
    plan = plan_of(document(explain={"kept": ["network: it is not permitted"]}))
    assert plan.design is not None
    assert "network" not in names(plan)
    assert ("network", "it is not permitted") in [(k.name, k.why) for k in plan.design.kept]


def test_folding_makes_twice_as_many_arms() -> None:
    causes = ["seccomp filter", "network", "overlay", "memory limit"]
    few = plan_of(document(explain={"causes": causes}))
    more = plan_of(document(explain={"causes": causes, "fold": "overlay"}))
    assert few.design is not None
    assert more.design is not None
    assert len(few.design.arms) == 8 + 2
    assert len(more.design.arms) == 16 + 2
    assert more.design.arms[-1].levels == (-1,) * 4


@pytest.mark.parametrize(
    ("explain", "said"),
    [
        ({"environment": "native"}, "beside the baseline"),
        ({"environment": "docker"}, "beside the baseline"),
        ({"causes": ["seccomp"]}, "explain.causes"),
        ({"fold": "user namespace"}, "explain.fold"),
        ({"why": "so"}, "is not a key"),
    ],
)
def test_what_is_wrong_is_said(explain: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        plan_of(document(explain=explain))


def test_factors_of_environments_have_no_place_beside_it() -> None:
    with pytest.raises(UsageError, match="varies environments"):
        plan_of({**document(), "factors": {"environment.cpus": [1, 2]}})
    with pytest.raises(UsageError, match="not a table"):
        plan_of({**document(), "explain": "podman"})


def test_an_environment_without_features_is_refused() -> None:
    made = document()
    made["environment"][1]["kind"] = "native"
    with pytest.raises(UsageError, match="no feature"):
        plan_of(made)
