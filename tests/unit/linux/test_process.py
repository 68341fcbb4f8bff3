"""Child processes: output, time limits, groups, and messages about their end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from aferir.errors import MissingError, ProgramError, TimeoutExpired
from aferir.linux import process
from tests.waiting import eventually


def alive(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return text.rpartition(")")[2].split()[0] not in ("Z", "X")


def wait_until_dead(pid: int) -> bool:
    return eventually(lambda: not alive(pid))


def test_output_exit_code_and_duration_are_kept() -> None:
    done = process.run(["sh", "-c", "echo out; echo err >&2; exit 3"], check=False)
    assert (done.stdout, done.stderr, done.exit_code) == ("out\n", "err\n", 3)
    assert done.duration_s > 0


def test_a_failure_says_how_it_ended_and_its_last_lines() -> None:
    with pytest.raises(ProgramError, match=r"exited with 3.*second / third"):
        process.run(["sh", "-c", "printf 'zero\\nfirst\\nsecond\\nthird\\n' >&2; exit 3"])
    with pytest.raises(ProgramError, match="SIGKILL"):
        process.run(["sh", "-c", "kill -9 $$"])
    assert [process.signal_name(n) for n in (34, 36)] == ["SIGRTMIN", "SIGRTMIN+2"]


def test_what_a_rank_says_is_told_and_not_what_its_launcher_adds() -> None:
    banner = ["-" * 74, "MPI_ABORT was invoked on rank 0", "", "-" * 74]
    said = [
        "needs 410 MiB, 256 MiB are available",
        *banner,
        "[host:08533] 1 more process has sent help message help-mpi-api.txt / mpi-abort",
        *["[warn] Epoll MOD(1) on fd 25 failed. Old events were 6: Bad file descriptor"] * 3,
    ]
    assert _explained(said) == "exited with 3: needs 410 MiB, 256 MiB are available"
    assert _explained([*said[1:], said[0]]).endswith("are available")
    assert "MPI_ABORT was invoked" in _explained(banner)
    longer = [*banner[:2], "because:", "", "1. of this", "2. of that", banner[-1]]
    assert _explained(longer).endswith(": MPI_ABORT was invoked on rank 0 / because: / 1. of this")


def test_an_expired_limit_is_told_with_the_last_line() -> None:
    line = ["/opt/aferir/launch", "--", "./bench"]
    told = process.out_of_time(line, 5.0, "first\n\x1blast \n \n").message
    assert told == "`launch -- ./bench` was ended after its time limit of 5 s; it said last: ?last"
    assert process.out_of_time(line, 0.5).message.endswith("its time limit of 0.5 s")


def _explained(lines: Sequence[str]) -> str:
    stderr = "\n".join(lines)
    return process.explain_exit(process.Completed(("x",), 3, "", stderr, 0, 1.0))


def test_a_program_that_is_not_there_is_missing() -> None:
    with pytest.raises(MissingError, match="no-such-program") as caught:
        process.run(["no-such-program"])
    assert "doctor" in caught.value.remedy


def test_the_time_limit_ends_the_whole_group(tmp_path: Path) -> None:
    pid_file, limit_s = tmp_path / "pid", 0.5
    pid_file.touch()
    while not pid_file.read_text():  # on a busy machine, a shell begins later than that
        with pytest.raises(TimeoutExpired, match=f"{limit_s:g} s"):
            process.run(["sh", "-c", f"sleep 6000 & echo $! > {pid_file}; wait"], timeout_s=limit_s)
        limit_s *= 2
    assert wait_until_dead(int(pid_file.read_text()))


def test_a_child_that_ignores_signals_is_killed() -> None:
    code = (
        "import signal, time\n"
        "for n in (2, 15): signal.signal(n, signal.SIG_IGN)\n"
        "print('ready', flush=True); time.sleep(60)"
    )
    child = process.start([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    assert process.end(child, grace_s=0.2) == -9


def test_children_die_with_us() -> None:
    code = (
        "import os; from aferir.linux import process\n"
        "child = process.start(['sleep', '60'])\n"
        "print(child.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    done = process.run([sys.executable, "-c", code], check=False)
    assert done.exit_code == -9
    assert wait_until_dead(int(done.stdout))


def test_every_child_says_whose_it_is() -> None:
    done = process.run(["sh", "-c", f"echo ${process.OWNER_VARIABLE}"])
    assert done.stdout.strip() == str(os.getpid())


def test_input_environment_folder_and_cpus_reach_the_child(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    code = (
        "import os, sys\n"
        "print(sys.stdin.read(), os.environ['X'], os.getcwd(), os.sched_getaffinity(0))"
    )
    done = process.run(
        [sys.executable, "-c", code],
        input_text="hello",
        environment={"X": "1"},
        directory=tmp_path,
        cpus=[cpu],
    )
    assert done.stdout.strip() == f"hello 1 {tmp_path} {{{cpu}}}"


def test_output_that_is_no_text_is_survived() -> None:
    assert process.run(["printf", "a\\377b"]).stdout == "a\ufffdb"
