"""`python -m benchmarks io`: selection of programs, and its messages."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

import msgspec
import pytest

from aferir.linux import limited_disk
from aferir.model.plan import Parameter
from aferir.programs.memory import MEMORY, Memory
from aferir.registry import all_programs
from aferir.selftest.options import BenchOptions
from benchmarks.io.devices import nonsense
from benchmarks.io.programs import marked, plan_of
from tests.unit.programs.taking import wrong_with


class Marked(Memory):
    """A program with two short forms."""

    short_io: tuple[Mapping[str, Parameter], ...] = ({"threads": 1}, {"threads": 2})


def test_a_program_takes_part_by_having_a_short_form() -> None:
    assert MEMORY.name not in marked()
    assert marked()
    assert all(all_programs()[name] is one for name, one in marked().items())


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
            assert wrong_with(one, parameters) == []


def test_readings_of_a_ups_that_cannot_be_true_are_refused() -> None:
    [figure] = nonsense(BenchOptions(), lambda *_: None)
    assert figure.holds
    assert figure.value == figure.n


@pytest.mark.skipif(os.geteuid() != 0, reason="a block device of one's own takes root")
def test_a_disk_of_ones_own_is_held_to_its_rate_and_leaves_nothing() -> None:
    rate = 20_000_000
    entry, device = limited_disk.make(32 * 2**20, limited_disk.Limits(rate))
    try:
        folder = limited_disk.mount(entry, device)
        block = bytes(2**20)
        clock = time.monotonic()
        with (folder / "file").open("wb", buffering=0) as stream:
            for _ in range(8):
                stream.write(block)
            os.fsync(stream.fileno())
        taken = time.monotonic() - clock
    finally:
        limited_disk.give_back(entry)
    assert taken >= 0.5 * 8 * 2**20 / rate
    assert not limited_disk.file_of(entry).exists()
    assert not folder.exists()
    limited_disk.give_back(entry)
