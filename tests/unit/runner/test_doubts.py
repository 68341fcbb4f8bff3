"""What is said of a run whose environments are on unlike hosts."""

from __future__ import annotations

from aferir import config, registry
from aferir.model.plan import HostLimits, Plan
from aferir.runner.doubts import unlike_hosts

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
