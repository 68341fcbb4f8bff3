"""The first program of an instance, run on the host over two pipes."""

from __future__ import annotations

import os
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from aferir import installed
from aferir.environments.inside import PROGRAM, Inside
from aferir.errors import MissingError, ProgramError, TimeoutExpired
from aferir.linux import undo
from tests.asleep import nobody_elses
from tests.waiting import eventually


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    try:
        program = installed.program(PROGRAM)
    except MissingError as error:
        pytest.skip(f"{error.message}; {error.remedy}")
    variables = [f"PATH={os.environ['PATH']}", "HOME=/root"]
    with subprocess.Popen(
        [str(program), *variables], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as started:
        yield started
        assert started.stdin is not None
        started.stdin.close()


@pytest.fixture
def inside(child: subprocess.Popen[bytes]) -> Inside:
    return greeted(child)


def greeted(child: subprocess.Popen[bytes]) -> Inside:
    assert child.stdin is not None
    assert child.stdout is not None
    found = Inside(child.stdout.fileno(), child.stdin.fileno())
    found.greet(60.0)
    return found


def test_a_program_has_its_own_variables_exit_code_and_output(inside: Inside) -> None:
    done = inside.run(
        ["sh", "-c", 'echo "$HOME $ONE"; echo err >&2; exit 7'],
        environment={"ONE": "two words"},
        check=False,
    )
    assert (done.exit_code, done.stdout, done.stderr) == (7, "/root two words\n", "err\n")
    assert done.duration_s > 0
    with pytest.raises(ProgramError, match="exited with 3"):
        inside.run(["sh", "-c", "exit 3"])
    assert inside.run(["sh", "-c", "kill -9 $$"], check=False).exit_code == -9


def test_much_output_and_bytes_that_are_no_text_arrive(inside: Inside) -> None:
    assert len(inside.run(["head", "-c", "3000000", "/dev/zero"]).stdout) == 3_000_000
    assert inside.run(["printf", r"\377"]).stdout == "�"


def test_it_reads_nothing(inside: Inside) -> None:
    assert inside.run(["cat"]).stdout == ""


def test_a_program_that_is_not_there_is_missing(inside: Inside, tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"`/no/such` cannot be run in the instance: No such"):
        inside.run(["/no/such"])
    (tmp_path / "script").write_text("#!/no/interpreter\n", encoding="ascii")
    with pytest.raises(MissingError, match="Permission denied"):
        inside.run([str(tmp_path / "script")])
    (tmp_path / "script").chmod(0o755)
    with pytest.raises(MissingError, match="the interpreter or dynamic linker"):
        inside.run([str(tmp_path / "script")])


def test_a_time_limit_ends_what_it_started(inside: Inside) -> None:
    sleep = f"sleep {nobody_elses()}"
    with pytest.raises(TimeoutExpired, match=r"1 s"):
        inside.run(["sh", "-c", f"setsid {sleep} & {sleep} & wait"], timeout_s=1.0)
    names = "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $f; echo; done 2> /dev/null"
    lines = inside.run(["sh", "-c", names]).stdout.splitlines()
    assert not [line for line in lines if line.startswith(sleep)]


def test_what_is_left_in_the_background_is_not_waited_for(inside: Inside) -> None:
    mark = "one-of-mine"
    done = inside.run(["sh", "-c", "sleep 4323 & echo $!"], environment={"WHOSE": mark})
    pid = int(done.stdout)
    assert Path(f"/proc/{pid}").exists()
    assert undo.kill(lambda _, variables: variables.get("WHOSE") == mark) == 1


def test_two_run_beside_each_other(inside: Inside, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    found: list[str] = []
    reading = threading.Thread(target=lambda: found.append(inside.run(["cat", str(fifo)]).stdout))
    reading.start()
    inside.run(["sh", "-c", f"echo met > '{fifo}'"])
    reading.join(60)
    assert found == ["met\n"]


def test_a_file_goes_in_with_its_mode_and_out_unchanged(inside: Inside, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(bytes(range(256)) * 4096)
    source.chmod(0o751)
    inside.put(source, PurePosixPath(tmp_path / "deep/er/copy"))
    assert (tmp_path / "deep/er/copy").stat().st_mode & 0o7777 == 0o751
    inside.get(PurePosixPath(tmp_path / "deep/er/copy"), tmp_path / "back/copy")
    assert (tmp_path / "back/copy").read_bytes() == source.read_bytes()


def test_a_file_that_cannot_be_copied_is_an_error(inside: Inside, tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="No such file"):
        inside.get(PurePosixPath(tmp_path / "none"), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    with pytest.raises(ProgramError, match="Is a directory"):
        inside.get(PurePosixPath(tmp_path), tmp_path / "copy")
    (tmp_path / "empty").touch()
    with pytest.raises(ProgramError, match="cannot be put to"):
        inside.put(tmp_path / "empty", PurePosixPath("/proc/no/such"))


def test_its_end_is_an_error_for_whoever_waits(child: subprocess.Popen[bytes]) -> None:
    inside, sleep = greeted(child), ["sleep", nobody_elses()]
    threading.Timer(0.1, child.kill).start()
    with pytest.raises(ProgramError, match="the instance ended"):
        inside.run(sleep)
    with pytest.raises(ProgramError, match="the instance ended"):
        inside.run(["true"])
    assert undo.kill(lambda arguments, _: arguments == sleep) <= 1


def test_a_descriptor_that_is_another_files_by_now_is_not_read() -> None:
    """Simulates that an instance is released and the next one's pipe gets its number at once."""
    (ours, theirs), (unread, write), (others, last) = (os.pipe() for _ in range(3))
    hello = struct.pack("<IBI", 0, ord("H"), 0)
    os.write(theirs, hello)
    inside = Inside(ours, write)
    inside.greet(60.0)
    os.dup2(others, ours)
    os.write(last, b"x")
    os.write(theirs, hello)
    for end in (theirs, last):
        os.close(end)
    eventually(lambda: not inside._open)
    assert os.read(others, 8) == b"x"
    for end in (ours, unread, write, others):
        os.close(end)


def test_what_says_nothing_or_something_else_is_an_error() -> None:
    for words, said in (
        (["true"], "ended at once"),
        (["head", "-c", "64", "/dev/zero"], "does not speak"),
        (["sleep", "10"], "within 0.1 s"),
    ):
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            with pytest.raises(ProgramError, match=said):
                Inside(child.stdout.fileno(), child.stdin.fileno()).greet(
                    0.1 if "sleep" in words else 60
                )
            child.kill()
