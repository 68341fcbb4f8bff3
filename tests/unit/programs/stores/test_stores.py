"""Common parts of the store programs, and BLAST, whose planted sequences must be found."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.config import parse
from aferir.errors import UnverifiedError
from aferir.model.plan import HostLimits
from aferir.programs.base import VOLUME, Command
from aferir.programs.stores.blast import BLAST
from aferir.programs.stores.bundle import bundle, packed
from aferir.programs.stores.inside import blast
from aferir.programs.stores.inside.cpu import TICKS_PER_S, CpuTime, parse_stat
from aferir.programs.stores.inside.outcome import Figures, WrongError, explain
from aferir.registry import all_programs, kinds
from aferir.runner.repetition import command_line
from tests.unit.programs.stores.support import assert_timed, needs_root, run, usable
from tests.unit.programs.taking import command_of, memory_of, wrong_with

SMALL: dict[str, str | int | float | bool] = {
    "database_bases": 300_000,
    "queries": 5,
    "query_bases": 1000,
}
EXPERIMENT = b"""
[experiment]
name = "e"
[[environment]]
name = "native"
kind = "native"
[[environment]]
name = "box"
kind = "container"
[[workload]]
name = "similar"
program = "blast"
[[workload]]
name = "ep"
program = "npb"
kernel = "ep"
class = "S"
"""


def given_(seed: int) -> Namespace:
    return Namespace(
        seed=seed, database_bases=250_000, queries=3, query_bases=900, mutated=0.05, instances=2
    )


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFERIR_CACHE", str(tmp_path_factory.mktemp("cache")))


def test_images_get_the_packages_of_the_programs_and_the_host_none() -> None:
    plan = parse(EXPERIMENT, HostLimits(cpus=(0,), memory_bytes=2**33), all_programs(), kinds())
    native, box = plan.environments
    assert native.packages == ()
    assert box.packages == ("ncbi-blast+", "python3")


def test_files_beside_a_program_are_named_by_where_they_are_put() -> None:
    command = Command(Path("/a/run"), ("-f", "/b/data.tar"), files=(Path("/b/data.tar"),))
    assert command_line(kinds()["native"], command) == ("/a/run", "-f", "/b/data.tar")
    inside = ("/opt/aferir/run", "-f", "/opt/aferir/data.tar")
    assert command_line(kinds()["container"], command) == inside


def test_the_drivers_are_one_file_that_is_always_the_same() -> None:
    path = bundle()
    assert path == bundle()
    assert path.read_bytes().endswith(packed())
    assert path.stat().st_mode & 0o111


@given(st.integers(blast.PLANTED_BASES, 10**7))
def test_a_database_has_the_bases_asked_for_in_sequences_to_plant_from(bases: int) -> None:
    sizes = list(blast.sizes(bases))
    assert sum(sizes) == bases
    assert min(sizes) >= blast.PLANTED_BASES


def test_equal_seeds_make_equal_data_and_others_do_not(tmp_path: Path) -> None:
    first = blast.make_data(given_(7), tmp_path)
    written = (tmp_path / "database.fa").read_bytes()
    assert blast.make_data(given_(7), tmp_path) == first
    assert (tmp_path / "database.fa").read_bytes() == written
    assert blast.make_data(given_(8), tmp_path)[1] != first[1]


PLANTED = blast.Planted("q", "s4", query_start=100, sequence_start=7000)


@pytest.mark.parametrize(
    "hits",
    [
        "q s4 101 7001 500\n",
        "q s4 95 6993 3-A-C500AG2A-9\n",  # goes on over gaps at both ends
        "q s4 101 7001 20AC178GT200TA99\n",  # substitutions
        "q s9 1 1 90\nq s4 101 7001 500\n",
    ],
)
def test_what_is_found_at_its_place_is_right(hits: str) -> None:
    blast.check_hits(hits, [PLANTED])


@pytest.mark.parametrize(
    "hits",
    [
        "",
        "p s4 101 7001 500\n",
        "q s5 101 7001 500\n",
        "q s4 101 7001 300\n",  # too short
        "q s4 101 7101 500\n",  # elsewhere
        "q s4 101 7001 100A-400\n",  # for the most part a base beside
    ],
)
def test_what_is_not_found_at_its_place_is_wrong(hits: str) -> None:
    with pytest.raises(WrongError, match="q at base 7000 of s4"):
        blast.check_hits(hits, [PLANTED])


def test_an_operation_is_512_bytes_read_or_written() -> None:
    figures = Figures(
        duration_s=2.0,
        requests=10,
        bytes_read=4096,
        bytes_written=1024,
        setup_s=1.0,
        cpu=CpuTime(1.5, 0.5),
    )
    assert figures.printed()["operations"] == 10
    assert figures.printed()["throughput_rps"] == 5
    assert (figures.printed()["user_s"], figures.printed()["system_s"]) == (1.5, 0.5)


def test_time_of_processors_is_read_past_any_name() -> None:
    fields = ["S", *["0"] * 10, "250", "50", *["0"] * 30]
    found = parse_stat(f"7 (java) 9 (x) {' '.join(fields)}")
    assert found - CpuTime(0.5, 0.25) == CpuTime(250 / TICKS_PER_S - 0.5, 50 / TICKS_PER_S - 0.25)


def test_an_end_is_explained(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("starting\nwrite: No space left on device\n")
    assert explain("x", 1, log, killed_before=0).startswith("the disk is full")
    log.write_text("starting\nwrong option\n")
    assert explain("x", 2, log, killed_before=0) == "x exited with 2: wrong option"
    log.write_text("Caused by: E: refused\n\tat java.base/a.B.<init>(B.java:1)\n\t... 3 more\n")
    assert explain("x", 1, log, killed_before=0) == "x exited with 1: Caused by: E: refused"
    assert explain("x", -9, log, killed_before=-2) == "out of memory: the kernel killed x"
    assert explain("x", -9, log, killed_before=2**60).startswith("x was ended by SIGKILL")


def test_blast_finds_what_was_planted(tmp_path: Path) -> None:
    usable(BLAST)
    done = run(BLAST, SMALL, tmp_path)
    metrics = {sample.metric: sample.value for sample in BLAST.parse(done.stdout)}
    assert metrics["requests"] == 10
    assert metrics["operations"] == metrics[VOLUME] / 512
    assert metrics[VOLUME] > 2 * 300_000 / 4  # four bases a byte
    assert_timed(metrics, done)


def test_blast_that_misses_a_planted_query_has_no_figures(tmp_path: Path) -> None:
    usable(BLAST)
    command = command_of(BLAST, SMALL)
    hidden = tmp_path / "programs"
    hidden.mkdir()
    (hidden / "blastn").write_text(
        '#!/bin/sh\nwhile [ "$1" != -out ]; do shift; done; : > "$2"\n', encoding="ascii"
    )
    (hidden / "blastn").chmod(0o755)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = run(BLAST, SMALL, scratch, f"PATH={hidden}:$PATH;")
    assert command.program.is_file()
    with pytest.raises(UnverifiedError, match="did not find"):
        BLAST.parse(done.stdout)


def test_a_full_disk_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    usable(BLAST)
    needs_root()
    done = run(BLAST, SMALL, tmp_path, f"mount -t tmpfs -o size=400k none {tmp_path};")
    assert done.exit_code == 1
    assert "the disk is full" in done.stderr


def test_wrong_parameters_are_named() -> None:
    wrong = wrong_with(BLAST, {"queries": 0, "mutated": "x", "folder": "here", "seed": 1.5})
    assert [sentence.partition(":")[0] for sentence in wrong] == [
        *("folder", "queries", "mutated", "seed"),
    ]
    assert msgspec.json.encode(memory_of(BLAST, {})).isdigit()
