"""The mode in the situations that the page on modes asks its reader to predict."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.colocation.policies.aferir import aferir
from aferir.colocation.policies.aferir.view import Mode
from aferir.colocation.settings import ThreadUse
from tests.checkout import ROOT
from tests.unit.colocation.states import SLA, latency, live

_PAGE = ROOT / "docs" / "concepts" / "colocation-modes.md"


def _table(page: Path, header: str) -> list[list[str]]:
    """Rows of the table whose header begins with this cell, as cells without their marks."""
    lines = iter(page.read_text().splitlines())
    next(line for line in lines if line.startswith(f"| {header} |"))
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().strip("`") for cell in line.strip("|").split("|")])
    return rows


SITUATIONS = _table(_PAGE, "situation")


def test_eight_situations_have_eight_modes() -> None:
    assert {row[-1] for row in SITUATIONS} == {mode.value for mode in Mode}
    assert len(SITUATIONS) == 8


def test_the_page_names_the_modes_in_the_order_of_the_table() -> None:
    assert [row[0] for row in _table(_PAGE, "mode | begins when")] == [mode.value for mode in Mode]


@pytest.mark.parametrize("row", SITUATIONS, ids=lambda row: str(row[0]))
def test_the_mode_is_the_one_that_the_page_predicts(row: list[str]) -> None:
    cpus, pool, need_ms, service, batch, others, quantile, occupied = map(float, row[1:-1])
    threads = tuple(
        ThreadUse(tid=tid, name="worker", cpus=service / pool) for tid in range(1, int(pool) + 1)
    )
    made = live(
        aferir(),
        10.0,
        cores=int(cpus),
        reservable_cpus=0.9 * cpus,
        threads=threads,
        rate=service / need_ms * 1e3,
        service_cpus=service,
        batch_cpus=batch,
        idle_cpus=cpus - service - batch - others,
        latency=latency(quantile * SLA.bound_s),
        occupied=occupied,
    )
    assert made.explanation.mode == row[-1]
