"""Crashes at any write: the final records of a run are the same, however many crashes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aferir.model.record import Record
from aferir.store import Run, Writer, list_runs
from tests.unit.runner.fakes import FakeEnvironment, carry_out, experiment, keys


class Crash(BaseException):
    """An exception that no code catches, as a SIGKILL cannot be caught."""


def crash_at(patch: pytest.MonkeyPatch, number: int, *, written: bool) -> None:
    real, count = Writer.append, [0]

    def append(self: Writer, record: Record) -> None:
        count[0] += 1
        if count[0] > number and not written:
            raise Crash
        real(self, record)
        if count[0] > number:
            raise Crash

    patch.setattr(Writer, "append", append)


STOPS = ("repetitions = 3", "min = 2\nmax = 6\ninterval_percent = 10\nemulated = 2")


def scripted(name: str, command: Sequence[str], _count: int) -> str:
    """Fails always, or is of one length, by what runs where: the same on every start."""
    if (name, command[-1]) == ("container", "b"):
        return "garbage"
    return '{"duration_s": 1}'


@settings(max_examples=15, deadline=None)
@given(
    crashes=st.lists(st.tuples(st.integers(0, 25), st.booleans()), max_size=6),
    stop=st.sampled_from(STOPS),
    order=st.sampled_from(["interleaved", "random"]),
)
def test_any_number_of_crashes_gives_the_same_repetitions(
    tmp_path_factory: pytest.TempPathFactory,
    crashes: list[tuple[int, bool]],
    stop: str,
    order: str,
) -> None:
    content = experiment(workloads={"a": "", "b": "b"}, stop=stop, header=f'order = "{order}"')

    def start(runs: Path) -> Run:
        made = [FakeEnvironment("container", behave=scripted), FakeEnvironment("vm", emulated=True)]
        try:
            return carry_out(runs, content, *made)
        finally:
            assert [each.live for each in made] == [0, 0]

    expected = start(tmp_path_factory.mktemp("whole"))
    runs = tmp_path_factory.mktemp("crashed")
    for number, written in crashes:
        with pytest.MonkeyPatch.context() as patch:
            crash_at(patch, number, written=written)
            try:
                start(runs)
                break
            except Crash:
                continue
    found = list_runs(runs)
    done = start(runs) if not found or found[0].status != "complete" else None
    folder = done.folder if done else found[0].folder
    assert len(list_runs(runs)) == 1
    final = start_records(folder)
    assert Counter(final) == keys(expected)
    # Nothing of the order is lost either: what each round ran, in which order.
    cells = [key for key in final if not key[0].endswith("/allocation")]
    assert cells == [
        (r.cell, r.repetition, r.warmup)
        for r in expected.records
        if not r.cell.endswith("/allocation")
    ]


def start_records(folder: Path) -> list[tuple[str, int, bool]]:
    lines = (folder / "records.jsonl").read_bytes().splitlines()
    records = [msgspec.json.decode(line, type=Record) for line in lines]
    return [(record.cell, record.repetition, record.warmup) for record in records]
