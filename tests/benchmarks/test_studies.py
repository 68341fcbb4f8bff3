"""The bench of studies: the experiment files that it includes, and figures from a run."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from aferir.config import parse, with_hosts
from aferir.model.plan import HostLimits
from aferir.model.provenance import Provenance, Segment
from aferir.model.record import Failure, Record, Sample
from aferir.model.units import parse_duration
from aferir.registry import all_programs, kinds
from aferir.runner.pool import IS_EMULATED
from aferir.store import create_run, open_run
from benchmarks.studies.hosts import unconnected
from benchmarks.studies.outcome import figures_of, finished
from benchmarks.studies.steps import STEPS, SUFFIX, file_of, full, short, without_short
from tests.checkout import ROOT

NAME = "vod-load-short"
LIMITS = HostLimits(cpus=(0, 1), memory_bytes=4 * 2**30)


def test_every_file_and_short_form_of_the_guide_is_known() -> None:
    guide = (ROOT / "docs/guides/studies.md").read_text(encoding="utf-8")
    tables, _, _ = guide.partition("## What was run")
    commands = set(re.findall(r"`aferir run experiments/([\w-]+)\.toml", tables))
    assert commands == {*full()}
    for work in STEPS:
        assert f"## {work}" in tables
    assert set(re.findall(rf"`([\w-]+{SUFFIX})`", tables)) == {*short()}
    assert all(file_of(name).is_file() for name in full())
    assert not {f"{name}{SUFFIX}" for name in without_short()} & {*short()}


def test_the_guide_says_of_every_file_that_it_was_run_in_full_or_why_not() -> None:
    guide = (ROOT / "docs/guides/studies.md").read_text(encoding="utf-8")
    _, _, ran = guide.partition("## What was run")
    ran, _, not_run = ran.partition("**Not run in full**")
    whole = re.findall(r"^\| `([\w-]+)` \| full", ran, re.MULTILINE)
    rest = [
        name
        for first in re.findall(r"^\|([^|]+)\|", not_run, re.MULTILINE)
        for name in re.findall(r"`([\w-]+)`", first)
    ]
    assert sorted({*whole, *rest}) == sorted(full())
    assert not {*whole} & {*rest}


@pytest.mark.parametrize("name", [*short(), *full()])
def test_limits_of_a_study_end_what_hangs_and_not_what_a_busy_machine_slows(name: str) -> None:
    document = tomllib.loads(file_of(name).read_text(encoding="utf-8"))
    assert parse_duration(document["experiment"]["time_limit"]) >= 3 * 3600
    assert min(parse_duration(one["time_limit"]) for one in document["workload"]) >= 3600


def test_a_run_of_the_file_as_it_is_now_is_read_and_no_other(tmp_path: Path) -> None:
    assert finished(tmp_path / "none", NAME) is None
    write(tmp_path, content=b"another file")
    assert finished(tmp_path, NAME) is None
    folder = write(tmp_path, content=file_of(NAME).read_bytes())
    found = finished(tmp_path, NAME)
    assert found is not None
    assert found.folder == folder


def test_a_run_is_of_its_file_on_any_hosts(tmp_path: Path) -> None:
    own = file_of("vod-hosts-short").read_bytes()
    content = with_hosts(own, unconnected(tmp_path, "node").read_bytes(), source="hosts.toml")
    plan = parse(content, LIMITS, all_programs(), kinds())
    with create_run(tmp_path / "runs", plan, content, Provenance(version="0")) as writer:
        writer.finish()
    found = finished(tmp_path / "runs", "vod-hosts-short")
    assert found is not None
    assert found.folder == writer.folder


def test_a_cell_that_failed_is_counted_and_one_left_out_is_not(tmp_path: Path) -> None:
    content = file_of(NAME).read_bytes()
    write(tmp_path, content=content)
    found = finished(tmp_path, NAME)
    assert found is not None
    missing, repetitions = figures_of(f"short.{NAME}", found)
    assert (missing.value, missing.n, missing.holds) == (1.0, 2, False)
    assert missing.note == "native/load/viewers=20: too slow; 1 cells left out"
    assert (repetitions.value, repetitions.note) == (1.0, "7 s")


def test_a_cell_that_skips_emulated_guests_is_left_out_where_they_are(tmp_path: Path) -> None:
    content = file_of("clock-ecp").read_bytes()
    plan = parse(content, LIMITS, all_programs(), kinds())
    commands: dict[str, tuple[str, ...]] = {cell.id: ("true",) for cell in plan.cells}
    guest = record("vm/pinned")
    with create_run(tmp_path, plan, content, Provenance(version="0", commands=commands)) as writer:
        writer.append(msgspec.structs.replace(guest, environment="vm", warnings=(IS_EMULATED,)))
        writer.finish()
        missing, _ = figures_of("full.clock-ecp", open_run(writer.folder))
    assert missing.n == len(plan.cells) - 2, "all but vm/migrated and vm/handed-over"


def write(runs: Path, *, content: bytes) -> Path:
    """Write a complete run of three cells: one good, one failed, one left out."""
    plan = parse(file_of(NAME).read_bytes(), LIMITS, all_programs(), kinds())
    good, bad, _ = (cell.id for cell in plan.cells)
    conditions = Provenance(
        version="0.1.0",
        segments=(Segment(started_unix_ns=1, ended_unix_ns=2, spent_s=7.0),),
        commands={good: ("true",), bad: ("false",)},
    )
    with create_run(runs, plan, content, conditions) as writer:
        writer.append(record(good))
        writer.append(record(bad, failure=Failure("failed", "too slow")))
        writer.finish()
        return writer.folder


def record(cell: str, *, failure: Failure | None = None) -> Record:
    return Record(
        cell=cell,
        group=cell.partition("/")[2],
        environment="native",
        workload="load",
        repetition=0,
        started_unix_ns=1,
        samples=() if failure else (Sample("duration_s", 1.0, "s"),),
        failure=failure,
    )


@pytest.mark.parametrize("work", STEPS)
def test_no_step_belongs_to_two_publications(work: str) -> None:
    others = {name for other, names in STEPS.items() if other != work for name in names}
    assert not others & {*STEPS[work]}
