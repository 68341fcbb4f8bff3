"""`aferir bench io`: which programs take part, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from aferir.bench.io_workloads import marked, plan_of
from aferir.model.plan import Parameter
from aferir.workloads import all_workloads
from aferir.workloads.base import IoWorkload
from aferir.workloads.memory import MemoryWorkload


class Marked(MemoryWorkload):
    """A program with two short forms."""

    short_io: tuple[Mapping[str, Parameter], ...] = ({"threads": 1}, {"threads": 2})


def test_a_program_takes_part_by_having_a_short_form() -> None:
    assert isinstance(Marked(), IoWorkload)
    assert not isinstance(MemoryWorkload(), IoWorkload)
    assert all(all_workloads()[name] is one for name, one in marked().items())


def test_every_short_form_runs_natively_and_in_a_container() -> None:
    plan = plan_of({"marked": Marked()}, quick=False, seed=1)
    assert [cell.id for cell in plan.cells] == [
        *("native/marked", "container/marked", "native/marked-2", "container/marked-2")
    ]
    assert [cell.workload.parameters["threads"] for cell in plan.cells] == [1, 1, 2, 2]
    assert len(plan_of({"marked": Marked()}, quick=True, seed=1).cells) == 2
    msgspec.json.decode(msgspec.json.encode(plan), type=type(plan))


def test_every_registered_short_form_is_valid() -> None:
    for one in marked().values():
        for parameters in one.short_io:
            assert one.validate(parameters) == []
