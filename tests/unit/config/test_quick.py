"""One command in several environments as an experiment, and the experiment as a file."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir import registry
from aferir.config import plan_of
from aferir.config.document import write_toml
from aferir.config.quick import Rounds, experiment
from aferir.config.shorthand import alike, environment_tables, usual
from aferir.errors import UsageError
from aferir.model.plan import HostLimits

HOST = HostLimits(cpus=(0, 1), memory_bytes=2**34)
KINDS = ("native", "container", "vm", "oci")


def test_short_names_are_kinds_with_keys() -> None:
    tables = environment_tables(
        ["native", "lxc cpus=1", "podman image=debian:12 network=none", "podman", "gvisor"], KINDS
    )
    assert tables[1] == {"name": "lxc", "kind": "container", "cpus": 1}
    assert tables[2]["image"] == "debian:12"
    assert [one["name"] for one in tables] == ["native", "lxc", "podman", "podman-2", "gvisor"]
    assert tables[4]["runtime"] == "runsc"


@pytest.mark.parametrize("line", ["docekr", "native cpus", "native =1", "native 'x"])
def test_what_is_no_environment_is_refused(line: str) -> None:
    with pytest.raises(UsageError, match=line[:6]):
        environment_tables([line], KINDS)


def test_the_usual_environments_are_those_that_are_known() -> None:
    assert usual(("native", "vm")) == ["native"]
    assert usual(KINDS) == ["native", "container", "podman", "gvisor"]


def test_rounds() -> None:
    assert Rounds.read("7") == Rounds(7, 7)
    assert Rounds.read("5..50") == Rounds(5, 50)
    for text in ("", "x", "9..3", "0"):
        with pytest.raises(UsageError):
            Rounds.read(text)


def document(**parameters: object) -> dict[str, object]:
    return experiment(
        {"command": "sleep 0.1", **parameters},
        environment_tables(["native", "container"], KINDS),
        rounds=Rounds(),
        warmup=0,
        budget_s=8,
        limit_s=600,
    )


def test_it_is_the_plan_that_its_file_is() -> None:
    made = document(figures=["x=last"], prepare="echo 'a\"b'\ntrue")
    plans = [
        plan_of(one, HOST, registry.all_programs(), registry.kinds())
        for one in (made, tomllib.loads(write_toml(made)))
    ]
    assert plans[0] == plans[1]
    assert [cell.id for cell in plans[0].cells] == ["native/sleep", "container/sleep"]
    assert plans[0].baseline == "native"


def test_factors_in_braces_vary_the_command() -> None:
    made = document(command="work -j{jobs} '{print}' {size}", verify="test {jobs}")
    made["factors"] = {"jobs": [1, 2], "size": ["a"]}
    plan = plan_of(made, HOST, registry.all_programs(), registry.kinds())
    commands = {cell.group: cell.workload.parameters for cell in plan.cells}
    assert commands["work/jobs=2/size=a"]["command"] == "work -j2 '{print}' a"
    assert commands["work/jobs=2/size=a"]["verify"] == "test 2"


def test_a_factor_that_no_command_has_is_refused() -> None:
    made = document(command="work {jobs}")
    made["factors"] = {"jbos": [1, 2]}
    with pytest.raises(UsageError, match="jbos"):
        plan_of(made, HOST, registry.all_programs(), registry.kinds())


VALUES = st.one_of(
    st.text(st.characters(codec="utf-8")),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=5),
        st.one_of(
            VALUES, st.lists(st.integers(0, 9)), st.dictionaries(st.text(), VALUES, min_size=1)
        ),
    )
)
def test_what_is_written_is_what_is_read(table: dict[str, object]) -> None:
    assert tomllib.loads(write_toml(table)) == table


def test_all_have_as_many_cpus_as_a_guest_with_one_processor() -> None:
    tables = environment_tables(["native", "uml"], registry.kinds())
    assert [table["cpus"] for table in alike(tables, registry.kinds())] == [1, 1]
    others = environment_tables(["native", "container"], registry.kinds())
    assert alike(others, registry.kinds()) == others
    said = environment_tables(["native", "container cpus=2", "uml"], registry.kinds())
    assert [table["cpus"] for table in alike(said, registry.kinds())] == [1, 2, 1]
