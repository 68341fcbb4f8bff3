"""aferir's own programs of I/O: parameters, figures, real runs, and their failures."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from aferir import installed as installation
from aferir.errors import MissingError, ProgramError, UnverifiedError
from aferir.linux import process
from aferir.linux.process import Completed
from aferir.model.parameters import names
from aferir.model.plan import SCRATCH, Parameter
from aferir.programs.base import VOLUME
from aferir.programs.io.base import IoProgram
from aferir.programs.io.checkpoint import BY_MPI_IO, CHECKPOINT
from aferir.programs.io.dedup import DEDUP
from aferir.programs.io.index import INDEX
from aferir.programs.io.wordcount import WORDCOUNT
from aferir.programs.mpi import MPIS, Mpi
from tests.unit.programs.taking import command_of, memory_of, wrong_with
from tests.waiting import eventually

SMALL: Mapping[str, Mapping[str, Parameter]] = {
    "checkpoint": {"processes": 3, "segments": 2, "block_bytes": 2**17, "transfer_bytes": 2**16},
    "dedup": {"instances": 2, "threads": 1, "file_bytes": 900_000, "duplicate_percent": 40},
    "index": {"processes": 2, "tree_bytes": 600_000, "table_bytes": 30_000, "terms": 2000},
    "wordcount": {"instances": 2, "file_bytes": 400_000, "terms": 2000, "cold": True},
}
HUGE: Mapping[str, Mapping[str, Parameter]] = {
    "checkpoint": {"processes": 1024, "block_bytes": 2**30, "transfer_bytes": 2**30},
    "dedup": {"instances": 1024, "threads": 1024, "file_bytes": 2**30},
    "index": {"processes": 1024, "table_bytes": 2**30, "cache_bytes": 2**30},
    "wordcount": {"instances": 1024, "maps": 1024, "terms": 2**24, "file_bytes": 2**30},
}
LARGE: Mapping[str, Mapping[str, Parameter]] = {
    "checkpoint": {"block_bytes": 2**30},
    "dedup": {"file_bytes": 2**30},
    "index": {"tree_bytes": 2**30},
    "wordcount": {"file_bytes": 2**30},
}
PROGRAMS = (CHECKPOINT, DEDUP, INDEX, WORDCOUNT)
_MNT_DETACH = 2
_libc = ctypes.CDLL(None, use_errno=True)


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.name)
def program(request: pytest.FixtureRequest) -> IoProgram[Any]:
    found = request.param
    assert isinstance(found, IoProgram)
    return found


def installed(program: IoProgram[Any]) -> IoProgram[Any]:
    missing = [finding.message for finding in program.check() if finding.status == "missing"]
    if missing:
        pytest.skip(missing[0])
    return program


def run(program: IoProgram[Any], parameters: Mapping[str, Parameter], folder: Path) -> Completed:
    try:
        command = command_of(program, parameters)
    except MissingError as error:
        pytest.skip(error.message)
    assert SCRATCH in command.environment
    line = [str(command.program), *command.arguments]
    return process.run(line, environment={SCRATCH: str(folder)}, check=False)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if _libc.mount(b"none", os.fsencode(folder), b"tmpfs", 0, b"size=2m") != 0:
        pytest.skip("only root may mount")
    yield folder
    # Ranks that their launcher killed may hold a file for a moment longer.
    assert _libc.umount2(os.fsencode(folder), _MNT_DETACH) == 0


def test_all_parameters_have_defaults_and_wrong_ones_are_named(program: IoProgram[Any]) -> None:
    assert wrong_with(program, {}) == []
    for parameters in program.short_io:
        assert wrong_with(program, parameters) == []
    assert memory_of(program, {}) < 2**30
    for name in names(program.parameters):
        for value in (-1, 2**70, "nonsense", 1.5):
            sentences = wrong_with(program, {name: value})
            assert sentences, (name, value)
            assert sentences[0].startswith(f"{name}: ")


def test_what_is_given_is_passed_on_and_the_folder_by_the_environment(
    program: IoProgram[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / program.name).touch(mode=0o755)
    monkeypatch.setenv("AFERIR_KERNELS", str(tmp_path))
    command = command_of(program, {"seed": 7, "folder": "/data"})
    assert command.arguments[:2] == ("--seed", "7")
    assert command.environment == {SCRATCH: "/data"}
    command = command_of(program, SMALL[program.name])
    for name, value in SMALL[program.name].items():
        option = f"--{name.replace('_', '-')}"
        assert option in command.arguments
        assert value is True or str(value) in command.arguments


def test_figures_of_a_run_that_did_not_verify_are_refused() -> None:
    line: dict[str, object] = {
        "program": "wordcount", "verified": True, "duration_s": 2.0, "bytes_read": 1000,
        "bytes_written": 24, "operations": 2, "terms": 5,
    }  # fmt: skip
    samples = {sample.metric: sample.value for sample in WORDCOUNT.parse(json.dumps(line))}
    assert samples == {
        "duration_s": 2.0, VOLUME: 1024.0, "operations": 2.0, "throughput_bps": 512.0, "terms": 5.0,
    }  # fmt: skip
    with pytest.raises(UnverifiedError):
        WORDCOUNT.parse(json.dumps({**line, "verified": False, "error": "1 term is wrong"}))
    with pytest.raises(ProgramError):
        WORDCOUNT.parse(json.dumps({**line, "bytes_read": None}))


def test_a_small_run_verifies_is_repeatable_and_leaves_nothing(
    program: IoProgram[Any], tmp_path: Path
) -> None:
    hashes = set()
    for seed in (1, 1, 2):
        done = run(program, {**SMALL[program.name], "seed": seed}, tmp_path)
        assert done.exit_code == 0, done.stderr
        samples = {sample.metric: sample.value for sample in program.parse(done.stdout)}
        assert samples["operations"] == -(-samples[VOLUME] // 512)
        assert samples["timed_user_s"] + samples["timed_system_s"] > 0
        hashes.add(json.loads(done.stdout)["data_hash"])
    assert len(hashes) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_and_left_empty(program: IoProgram[Any], small_disk: Path) -> None:
    done = run(program, LARGE[program.name], small_disk)
    assert done.exit_code == 4
    assert "no space left on the device" in done.stderr
    assert list(small_disk.iterdir()) == []


def test_what_cannot_fit_into_the_memory_is_refused(
    program: IoProgram[Any], tmp_path: Path
) -> None:
    assert memory_of(program, HUGE[program.name]) > 2**37
    done = run(program, HUGE[program.name], tmp_path)
    assert done.exit_code == 3
    assert "MiB are available" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_process_ends_the_program_and_its_files(
    program: IoProgram[Any], tmp_path: Path, number: signal.Signals
) -> None:
    command = command_of(installed(program), LARGE[program.name])
    code = 0
    while code == 0:  # it has done its work where we were kept from the processor for that long
        child = process.start(
            [str(command.program), *command.arguments], environment={SCRATCH: str(tmp_path)}
        )
        aim = eventually(partial(_aim, child, tmp_path, number))
        if aim != _ENDED:
            with contextlib.suppress(ProcessLookupError):
                os.kill(aim, number)
        code = child.wait()
    assert code == 5
    assert list(tmp_path.iterdir()) == []


_ENDED = -1


def _aim(child: subprocess.Popen[str], folder: Path, number: signal.Signals) -> int:
    """Process ID of the one to be ended; 0 until there are files, `_ENDED` when all have ended.

    SIGKILL comes as the kernel sends it, to one that works; SIGTERM as somebody does, to the first.
    """
    if child.poll() is not None:
        return _ENDED
    if not list(folder.glob("*/*")):
        return 0
    if number == signal.SIGTERM:
        return child.pid
    listed = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text(encoding="ascii")
    return int(listed.split()[0]) if listed else 0


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"transfer_bytes": 3000}, "transfer_bytes"),
        ({"transfer_bytes": 12, "block_bytes": 24}, "transfer_bytes"),
        ({"transfer_bytes": 512, "direct": True}, "transfer_bytes"),
        ({"direct": True, "api": "mpiio"}, "direct"),
        ({"collective": True}, "collective"),
        ({"api": "hdf5"}, "api"),
    ],
)
def test_options_of_a_checkpoint_that_do_not_go_together_are_named(
    wrong: dict[str, Parameter], named: str
) -> None:
    sentences = wrong_with(CHECKPOINT, wrong)
    assert sentences
    assert sentences[0].startswith(f"{named}: ")


@pytest.mark.parametrize("mpi", MPIS)
def test_a_checkpoint_by_mpi_io_takes_its_program_along_and_verifies(
    mpi: Mpi, tmp_path: Path
) -> None:
    parameters = {**SMALL["checkpoint"], "api": "mpiio", "mpi": mpi, "collective": True}
    assert wrong_with(CHECKPOINT, parameters) == []
    done = run(CHECKPOINT, parameters, tmp_path)
    assert [path.name for path in command_of(CHECKPOINT, parameters).files] == [
        f"{BY_MPI_IO}-{mpi}"
    ]
    samples = {sample.metric: sample.value for sample in CHECKPOINT.parse(done.stdout)}
    assert samples[VOLUME] == 2 * 3 * 2 * 2**17
    assert samples["syncs"] == 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mpi", MPIS)
def test_the_program_of_mpi_io_lists_its_options(mpi: Mpi) -> None:
    done = process.run([str(installation.program(f"{BY_MPI_IO}-{mpi}")), "--help"])
    assert done.stdout.startswith("usage: checkpoint")


@pytest.mark.parametrize("mpi", MPIS)
def test_a_full_disk_is_said_by_mpi_io_too(mpi: Mpi, small_disk: Path) -> None:
    done = run(CHECKPOINT, {"api": "mpiio", "mpi": mpi}, small_disk)
    assert done.exit_code != 0
    assert "no space left on the device" in done.stderr
    assert list(small_disk.iterdir()) == []


def test_a_direct_checkpoint_says_so_where_the_file_system_has_none(small_disk: Path) -> None:
    small: dict[str, Parameter] = {"direct": True, "block_bytes": 2**16, "transfer_bytes": 2**12}
    done = run(CHECKPOINT, {**small, "processes": 1}, small_disk)
    # tmpfs has taken O_DIRECT since Linux 6.6.
    assert done.exit_code in (0, 4)
    assert (done.exit_code == 0) == ("no direct I/O" not in done.stderr)
