"""One made-up run on the disk, read and evaluated, with names that look like markup."""

from __future__ import annotations

from pathlib import Path

import msgspec

from aferir.model.record import Sample
from aferir.report.analyse import analyse
from aferir.report.model import Evaluation
from aferir.store import Run, open_run
from aferir.store.lines import encode_line
from aferir.store.run import EXPERIMENT, RECORDS
from benchmarks.report.made_up import plan_of, record_of
from tests.unit.store.many_runs import START_NS, write

EVIL = '<b>50%_of $all{\\x}"'
WATTS, HERTZ = 12.5, 3.2e9


def one_run(folder: Path) -> tuple[Run, Evaluation]:
    """Two environments, one group with an evil name, eight rounds and their allocations."""
    plan = plan_of(2, 1, 8)
    cells = tuple(msgspec.structs.replace(cell, group=EVIL) for cell in plan.cells)
    plan = msgspec.structs.replace(plan, cells=cells)
    place = folder / "run-1"
    write(place, plan, started_unix_ns=START_NS, commit="c" * 40)
    (place / EXPERIMENT).write_text("[experiment]\n", encoding="utf-8")
    with (place / RECORDS).open("wb") as stream:
        for repetition in range(8):
            for k, cell in enumerate(cells):
                at = START_NS + (10 * repetition + 5 * k) * 10**9
                samples = (
                    Sample("duration_s", 1.0 + 0.2 * k + 0.001 * repetition, "s"),
                    Sample("power_w", WATTS, "W", "host"),
                    Sample("frequency_hz", HERTZ, "Hz", "host"),
                )
                record = record_of(cell, repetition, samples, failed=k == 1 and repetition == 7)
                stream.write(encode_line(msgspec.structs.replace(record, started_unix_ns=at)))
                waiting = (
                    Sample("placed_s", 0.25, "s", "environment"),
                    Sample("booted_s", 0.5, "s", "environment"),
                    Sample("total_s", 0.75, "s", "environment"),
                )
                allocation = msgspec.structs.replace(
                    record_of(cell, repetition, waiting, failed=False),
                    cell=f"{cell.environment}/allocation",
                    group="allocation",
                    workload="allocation",
                    started_unix_ns=at - 10**9,
                )
                stream.write(encode_line(allocation))
    run = open_run(place)
    return run, analyse(run.plan, run.records)
