"""Any key of a kind may be a factor, with levels that are read as values in the table are."""

from __future__ import annotations

import json

import msgspec
import pytest

from aferir.config import parse
from aferir.model.parameters import Field
from aferir.model.plan import EnvironmentSpec, HostLimits, Plan
from aferir.registry import all_programs, kinds
from tests.unit.config.broken_pieces import BOX, EP, EXPERIMENT, GUEST, LAB, NATIVE, check_refused

HOST = HostLimits(cpus=(0, 1), memory_bytes=4 * 2**30)
ALONE = '[experiment]\nname = "e"\nbaseline = "{}"\n'
BOTH = EXPERIMENT + NATIVE + BOX + EP


def plan(text: str) -> Plan:
    return parse(text.encode(), HOST, all_programs(), kinds())


def factor(key: str, levels: str) -> str:
    return f'[factors]\n"environment.{key}" = {levels}\n'


def spec_of(made: Plan, name: str) -> dict[str, object]:
    found: dict[str, EnvironmentSpec] = {one.name: one for one in made.environments}
    return msgspec.structs.asdict(found[name])


@pytest.mark.parametrize(
    ("key", "levels", "attribute", "values"),
    [
        ("node_kind", '["container", "vm"]', "node_kind", {"container": "container", "vm": "vm"}),
        ("placement", '["packed", "free"]', "placement", {"packed": "packed", "free": "free"}),
        ("suite", '["trixie", "forky"]', "suite", {"trixie": "trixie", "forky": "forky"}),
        ("nodes", "[1, 3]", "nodes", {"1": 1, "3": 3}),
        ("memory", '["128 MiB", "1 GB"]', "memory_bytes", {"128MiB": 2**27, "1GB": 10**9}),
        ("pin", "[[0], [0, 1]]", "pin", {"0": (0,), "0+1": (0, 1)}),
        ("tenants", "[1, 2]", "tenants", {"1": 1, "2": 2}),
    ],
)
def test_every_key_of_a_kind_is_a_factor(
    key: str, levels: str, attribute: str, values: dict[str, object]
) -> None:
    text = ALONE.format("lab") + LAB + 'memory = "256 MiB"\n' + EP
    made = plan(text + factor(key, levels))
    found = {name: spec_of(made, f"lab[{key}={name}]")[attribute] for name in values}
    assert found == values
    assert [cell.factors for cell in made.cells] == [
        {f"environment.{key}": cell.factors[f"environment.{key}"]} for cell in made.cells
    ]


def test_disks_of_several_sizes_are_levels() -> None:
    made = plan(BOTH + factor("disk", '["64 MiB", "1 GiB"]'))
    assert [one.name for one in made.environments] == [
        "native[disk=64MiB]", "box[disk=64MiB]", "native[disk=1GiB]", "box[disk=1GiB]",
    ]  # fmt: skip


def test_what_a_level_lacks_may_be_in_the_table_and_the_other_way_round() -> None:
    slow = EXPERIMENT + NATIVE + 'disk_rate = "1 MB"\n' + EP
    check_refused(slow, "environment[1].disk_rate", "disk of its own", "add its size")
    made = plan(slow + factor("disk", '["64 MiB", "1 GiB"]'))
    assert len(made.environments) == 2


REFUSED = {
    "too little for a guest": (
        EXPERIMENT + NATIVE + GUEST + EP + factor("memory", '["96 MiB", "1 GiB"]'),
        "factors.environment.memory[1]", "too little for kind vm", '"128 MiB"',
    ),
    "too little for nothing but the guest": (
        EXPERIMENT + NATIVE + GUEST + EP + factor("memory", '["1 GiB", "8 MiB"]'),
        "factors.environment.memory[2]", "too little for kind native", '"16 MiB"',
    ),
    "nodes of a container": (
        BOTH + factor("nodes", "[1, 2]"),
        "factors.environment.nodes", "no environment of this file", "remove it",
    ),
    "nodes of what is beside a cluster": (
        EXPERIMENT + NATIVE + LAB + EP + factor("nodes", "[1, 2]"),
        "factors.environment.nodes[1]", "means nothing for `native`, kind native", "remove",
    ),
    "quota of a cluster": (
        ALONE.format("lab") + LAB + EP + factor("cpu_quota", "[0.5, 1]"),
        "factors.environment.cpu_quota", "no environment of this file", "remove it",
    ),
    "disk of a guest": (
        EXPERIMENT + NATIVE + GUEST + EP + factor("disk", '["64 MiB", "1 GiB"]'),
        "factors.environment.disk[1]", "means nothing for `guest`, kind vm", "remove",
    ),
    "tenants above the most": (
        BOTH + factor("tenants", "[1, 65]"),
        "factors.environment.tenants[2]", "65 is out of range", "from 1 to 64",
    ),
    "a release of guests": (
        ALONE.format("lab") + LAB + 'suite = "trixie"\n' + EP
        + factor("node_kind", '["container", "vm"]'),
        "environment[1].suite", "guests have the host's release", "node_kind",
    ),
    "a word that is none": (
        ALONE.format("lab") + LAB + EP + factor("placement", '["packed", "sprayed"]'),
        "factors.environment.placement[2]", "is not known here", "did you mean `spread`",
    ),
    "more nodes than the host holds": (
        ALONE.format("lab") + LAB + EP + factor("nodes", "[2, 9]"),
        "workload[1]", "9 instances of `lab[nodes=9]`", "fewer",
    ),
    "a name of an environment": (
        BOTH + factor("name", '["a", "b"]'),
        "factors.environment.name", "is not a key", "did you mean",
    ),
    "a pin of another host": (
        BOTH + factor("pin", "[[0], [7]]"),
        "factors.environment.pin[2]", "no CPU 7", "[0, 1]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_level_that_the_key_could_not_be_is_refused(name: str) -> None:
    check_refused(*REFUSED[name])


def written(field: Field, value: object) -> str:
    if field.form == "list":
        return "[0]"
    if field.spelling == "size":
        return f'"{value} B"'
    return json.dumps(value)


@pytest.mark.parametrize("name", kinds())
def test_what_a_table_may_not_say_a_level_may_not_either(name: str) -> None:
    """Every key of every kind, just inside and just outside of its bounds."""
    head = ALONE.format("one") + f'[[environment]]\nname = "one"\nkind = "{name}"\n'
    head += 'disk = "1 GiB"\n' if "disk" in {field.key for field in kinds()[name].keys} else ""
    program = '[[workload]]\nname = "w"\nprogram = "elastic-movie"\n' if name == "cloud" else EP
    tried = 0
    for field in kinds()[name].keys:
        if field.least is None or field.most is None or field.key == "disk":
            continue
        for value in (field.least - 1, field.most + 1):
            table = f"{field.key} = {written(field, int(value))}\n"
            level = factor(field.key, f"[{written(field, int(value))}]")
            check_refused(head + table + program, f"environment[1].{field.key}", "", "")
            check_refused(head + program + level, f"factors.environment.{field.key}[1]", "", "")
            tried += 1
    assert tried >= 4
