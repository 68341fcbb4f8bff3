"""Warnings about a run whose environments are on different kinds of hosts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aferir import config, registry
from aferir.model.plan import HostLimits, Plan
from aferir.model.record import ALLOCATION, Record
from aferir.model.stamps import Stamp, between
from aferir.runner.doubts import out_of_order, unlike_hosts

TEXT = """
[experiment]
name = "x"
baseline = "one"
[[host]]
name = "a"
reach = "ssh a"
[[host]]
name = "b"
reach = "ssh b"
[[environment]]
name = "one"
kind = "native"
host = "a"
[[environment]]
name = "two"
kind = "native"
HOST
[[workload]]
name = "ep"
program = "npb"
kernel = "ep"
class = "S"
"""


def plan_of(host: str) -> Plan:
    limits = HostLimits(cpus=(0, 1), memory_bytes=2**33)
    text = TEXT.replace("HOST", f'host = "{host}"' if host else "").encode()
    return config.parse(text, limits, registry.all_programs(), registry.kinds())


def of(model: str) -> dict[str, object]:
    return {"machine": {"cpu_model": model}}


def test_two_processors_are_never_set_beside_one_another_silently() -> None:
    facts = {**of("old"), "hosts": {"a": of("new"), "b": of("old")}}
    (warning,) = unlike_hosts(plan_of("b"), facts)
    assert "a: new; b: old" in warning.message
    (warning,) = unlike_hosts(plan_of(""), facts)
    assert "a: new; this host: old" in warning.message
    assert unlike_hosts(plan_of("a"), facts) == ()
    assert unlike_hosts(plan_of("b"), {"hosts": {"a": of("same"), "b": of("same")}}) == ()


def began(environment: str, unix_ns: int, bound_ns: int = 0) -> Record:
    return Record(
        cell=f"{environment}/x",
        group="x",
        environment=environment,
        workload="x",
        repetition=0,
        started_unix_ns=0,
        began=Stamp(unix_ns, bound_ns),
    )


def test_clocks_that_agree_with_the_order_of_programs_raise_no_doubt() -> None:
    allocation = Record(
        cell="b/allocation",
        group=ALLOCATION,
        environment="b",
        workload=ALLOCATION,
        repetition=0,
        started_unix_ns=0,
        began=Stamp(1, 10),  # written at the end of its round
    )
    records = (began("a", 100), allocation, began("b", 200, 40), began("a", 300))
    assert out_of_order(records) == ()


def test_a_clock_that_was_set_back_is_told_from_one_that_is_not_known_well() -> None:
    (unknown,) = out_of_order((began("a", 100), began("b", 90, 40)))
    assert unknown.code == "order-unknown"
    assert "1 of 1" in unknown.message
    (stepped,) = out_of_order((began("a", 100), began("b", 50, 40)))
    assert stepped.code == "clock-stepped"
    assert "program of b" in stepped.message


@given(out=st.integers(0, 10**9), lasted=st.integers(0, 10**10), back=st.integers(0, 10**9))
def test_an_allocation_on_another_host_began_within_its_bound(
    out: int, lasted: int, back: int
) -> None:
    stamp = between(5, 5 + out + lasted + back, lasted / 1e9)
    assert abs(stamp.unix_ns - (5 + out)) <= stamp.bound_ns + 1  # durations are floats
