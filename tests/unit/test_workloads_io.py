"""Our own programs of I/O: parameters, figures, real runs, and what ends them."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from aferir import process
from aferir.errors import MissingError, ProgramError, UnverifiedError
from aferir.model.plan import SCRATCH, Parameter
from aferir.process import Completed
from aferir.workloads.base import VOLUME
from aferir.workloads.dedup import DEDUP
from aferir.workloads.index import INDEX
from aferir.workloads.io_programs import IoProgram
from aferir.workloads.wordcount import WORDCOUNT

SMALL: Mapping[str, Mapping[str, Parameter]] = {
    "dedup": {"instances": 2, "threads": 1, "file_bytes": 900_000, "duplicate_percent": 40},
    "index": {"processes": 2, "tree_bytes": 600_000, "table_bytes": 30_000, "terms": 2000},
    "wordcount": {"instances": 2, "file_bytes": 400_000, "terms": 2000, "cold": True},
}
HUGE: Mapping[str, Mapping[str, Parameter]] = {
    "dedup": {"instances": 1024, "threads": 1024, "file_bytes": 2**30},
    "index": {"processes": 1024, "table_bytes": 2**30, "cache_bytes": 2**30},
    "wordcount": {"instances": 1024, "maps": 1024, "terms": 2**24, "file_bytes": 2**30},
}
LARGE: Mapping[str, Mapping[str, Parameter]] = {
    "dedup": {"file_bytes": 2**30},
    "index": {"tree_bytes": 2**30},
    "wordcount": {"file_bytes": 2**30},
}
PROGRAMS = (DEDUP, INDEX, WORDCOUNT)
_libc = ctypes.CDLL(None, use_errno=True)


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.program)
def program(request: pytest.FixtureRequest) -> IoProgram:
    found = request.param
    assert isinstance(found, IoProgram)
    return found


def installed(program: IoProgram) -> IoProgram:
    missing = [finding.message for finding in program.check() if finding.status == "missing"]
    if missing:
        pytest.skip(missing[0])
    return program


def run(program: IoProgram, parameters: Mapping[str, Parameter], folder: Path) -> Completed:
    try:
        command = program.command(parameters)
    except MissingError as error:
        pytest.skip(error.message)
    assert SCRATCH in command.environment
    line = [str(command.program), *command.arguments]
    return process.run(line, environment={SCRATCH: str(folder)}, timeout_s=120, check=False)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if _libc.mount(b"none", os.fsencode(folder), b"tmpfs", 0, b"size=2m") != 0:
        pytest.skip("only root may mount")
    yield folder
    assert _libc.umount2(os.fsencode(folder), 0) == 0


def test_all_parameters_have_defaults_and_wrong_ones_are_named(program: IoProgram) -> None:
    assert program.validate({}) == []
    for parameters in program.short_io:
        assert program.validate(parameters) == []
    assert program.memory_bytes({}) < 2**30
    for name in program.parameters:
        for value in (-1, 2**70, "nonsense", 1.5):
            sentences = program.validate({name: value})
            assert sentences, (name, value)
            assert sentences[0].startswith(f"{name}: ")


def test_what_is_given_is_passed_on_and_the_folder_by_the_environment(
    program: IoProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / program.program).touch(mode=0o755)
    monkeypatch.setenv("AFERIR_KERNELS", str(tmp_path))
    command = program.command({"seed": 7, "folder": "/data"})
    assert command.arguments == ("--seed", "7")
    assert command.environment == {SCRATCH: "/data"}
    command = program.command(SMALL[program.program])
    for name, value in SMALL[program.program].items():
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
    program: IoProgram, tmp_path: Path
) -> None:
    hashes = set()
    for seed in (1, 1, 2):
        done = run(program, {**SMALL[program.program], "seed": seed}, tmp_path)
        assert done.exit_code == 0, done.stderr
        samples = {sample.metric: sample.value for sample in program.parse(done.stdout)}
        assert samples["operations"] == -(-samples[VOLUME] // 512)
        hashes.add(json.loads(done.stdout)["data_hash"])
    assert len(hashes) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_and_left_empty(program: IoProgram, small_disk: Path) -> None:
    done = run(program, LARGE[program.program], small_disk)
    assert done.exit_code == 4
    assert "no space left on the device" in done.stderr
    assert list(small_disk.iterdir()) == []


def test_what_cannot_fit_into_the_memory_is_refused(program: IoProgram, tmp_path: Path) -> None:
    assert program.memory_bytes(HUGE[program.program]) > 2**37
    done = run(program, HUGE[program.program], tmp_path)
    assert done.exit_code == 3
    assert "MiB are available" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_process_ends_the_program_and_its_files(
    program: IoProgram, tmp_path: Path, number: signal.Signals
) -> None:
    command = installed(program).command(LARGE[program.program])
    child = process.start(
        [str(command.program), *command.arguments], environment={SCRATCH: str(tmp_path)}
    )
    deadline = time.monotonic() + 30
    while not list(tmp_path.glob("*/*")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    # SIGKILL as the kernel sends it, to one that works; SIGTERM as somebody does, to the first.
    listed = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text(encoding="ascii")
    os.kill(int(listed.split()[0]) if number == signal.SIGKILL else child.pid, number)
    assert child.wait(timeout=30) == 5
    assert list(tmp_path.iterdir()) == []
