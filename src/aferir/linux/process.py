"""The only place that starts child processes.

Every child carries `AFERIR_OWNER` in its environment, so that one left over by a SIGKILL can be
told from other people's (see `aferir.linux.journal`), and dies with us where the kernel allows it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from aferir.errors import MissingError, ProgramError, TimeoutExpired
from aferir.linux import wait
from aferir.linux.running import is_stopped

if TYPE_CHECKING:
    from concurrent.futures import Executor

OWNER_VARIABLE = "AFERIR_OWNER"
ALONE = ("unshare", "--fork", "--pid", "--kill-child")
"""Before a command, as root: all that descends from it ends with it, however we end. Not one that
becomes somebody else by itself (prctl(2), PR_SET_PDEATHSIG)."""
_PR_SET_PDEATHSIG = 1
_GRACE_S = 2.0
_LOOK_S, _LOOK_SHARE = 0.5, 0.02
"""How often a child is looked at: the longer of so many seconds, and this share of its limit."""
_LONGEST_STOP_S = 24 * 3600.0
_RULE = re.compile(r"-{70,}")
"""Around what Open MPI has to say."""
_LAUNCHER = re.compile(r"\[[\w.-]+:\d+\] |\[warn\] Epoll ")
"""What Open MPI adds of itself, and its libevent, which may outlive a rank's pipes."""
_libc = ctypes.CDLL(None, use_errno=True)


class Completed(msgspec.Struct, frozen=True):
    """A child that has ended."""

    command: tuple[str, ...]
    exit_code: int
    """Negative: ended by that signal."""
    stdout: str
    stderr: str
    started_unix_ns: int
    duration_s: float
    stopped_s: float = 0.0
    """Of these, in which somebody had stopped it (SIGSTOP), as far as that was seen."""
    others: tuple[Completed, ...] = ()
    """What ran beside it as a tenant of the same environment."""


def run(
    command: Sequence[str],
    *,
    timeout_s: float | None = None,
    input_text: str | None = None,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
    cpus: Sequence[int] = (),
    cgroups: Sequence[Path] = (),
    controls: Sequence[tuple[int, int]] = (),
    check: bool = True,
) -> Completed:
    """Run `command` to its end and keep what it printed.

    Of `timeout_s` only that counts in which both it and we run: see `aferir.linux.running`.
    Errors: MissingError where the program does not exist, TimeoutExpired past `timeout_s`,
    ProgramError (with the last lines it printed) on a non-zero exit when `check` is set.
    """
    started = time.time_ns()
    clock = time.perf_counter()
    child = start(
        command,
        stdin=subprocess.PIPE if input_text is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        environment=environment,
        directory=directory,
        cpus=cpus,
        cgroups=cgroups,
        controls=controls,
    )
    try:
        stdout, stderr, stopped_s = _communicate(child, input_text, timeout_s)
    except subprocess.TimeoutExpired:
        end(child)
        raise TimeoutExpired(
            f"`{' '.join(command)}` was ended after its time limit of {timeout_s:g} s",
            remedy="raise the workload's time_limit, or choose a smaller problem",
        ) from None
    except BaseException:
        end(child)
        raise
    duration_s = time.perf_counter() - clock
    done = Completed(
        tuple(command), child.returncode, stdout, stderr, started, duration_s, stopped_s
    )
    if check and child.returncode != 0:
        raise ProgramError(f"`{' '.join(command)}` {explain_exit(done)}")
    return done


def _communicate(
    child: subprocess.Popen[str], input_text: str | None, timeout_s: float | None
) -> tuple[str, str, float]:
    """What it prints until its end, and how long it was stopped meanwhile.

    The wait is made of looks, of which each counts as what it was meant to last: while we are
    stopped ourselves, or the program is, the time limit waits. Looks are seconds apart at long
    limits, since whoever looks takes a processor from what is measured.
    Errors: subprocess.TimeoutExpired once `timeout_s` is used up.
    """
    if timeout_s is None or input_text is not None:
        # Python 3.11 forgets in a second wait what it has still to write.
        return (*child.communicate(input_text, timeout=timeout_s), 0.0)
    left_s, stopped_s = timeout_s, 0.0
    while True:
        look_s = min(left_s, max(_LOOK_S, timeout_s * _LOOK_SHARE))
        clock = time.monotonic()
        try:
            return (*child.communicate(timeout=look_s), stopped_s)
        except subprocess.TimeoutExpired:
            if stopped_s < _LONGEST_STOP_S and is_stopped(child.pid):
                stopped_s += time.monotonic() - clock
                continue
            left_s -= look_s
            if left_s <= 0:
                raise


def start(
    command: Sequence[str],
    *,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
    cpus: Sequence[int] = (),
    cgroups: Sequence[Path] = (),
    controls: Sequence[tuple[int, int]] = (),
    handles: Sequence[int] = (),
    survives_us: bool = False,
) -> subprocess.Popen[str]:
    """Start `command` in a process group of its own; the caller ends it with `end`.

    It runs on `cpus` alone and is a member of the control groups `cgroups` (folders) from
    before its first instruction on, so that none of its children escapes their limits.
    `controls` are options of prctl(2) with their values; where the kernel refuses one the child
    exits with 126. `handles` are open files that it has too, by the same numbers.
    It is killed when the *thread* that called this ends (prctl(2), PR_SET_PDEATHSIG), unless
    `survives_us`: call it from the main thread.
    """
    variables = {**os.environ, OWNER_VARIABLE: str(os.getpid()), **(environment or {})}
    try:
        return subprocess.Popen(
            list(command),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=variables,
            cwd=directory,
            text=True,
            encoding="utf-8",
            errors="replace",
            process_group=0,
            pass_fds=tuple(handles),
            preexec_fn=_child_setup(tuple(cpus), tuple(cgroups), tuple(controls), survives_us),
        )
    except FileNotFoundError:
        raise MissingError(
            f"the program `{command[0]}` is not on this machine",
            remedy="run `aferir doctor` to see what is missing and the command that adds it",
        ) from None
    except PermissionError:
        raise MissingError(
            f"the program `{command[0]}` may not be executed", remedy=f"chmod +x {command[0]}"
        ) from None


def end(child: subprocess.Popen[str], grace_s: float = _GRACE_S) -> int:
    """End a child and its group: interrupt, terminate, each given `grace_s` to work, kill.

    What the child started and left behind in its group is killed as well. A child that had
    ended before is only waited for: its number may be somebody else's by now.
    """
    if child.poll() is None:
        for number in (signal.SIGINT, signal.SIGTERM):
            os.killpg(child.pid, number)
            if _ends_within(child.pid, grace_s):
                break
        os.killpg(child.pid, signal.SIGKILL)  # not waited for yet, so the number is still ours
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            stream.close()
    return child.wait()


def _ends_within(pid: int, seconds: float) -> bool:
    """Wait for a child without taking its exit status, which would free its number."""

    def ended() -> bool:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    return wait.until(ended, wait.after(seconds), period_s=0.005)


def explain_exit(done: Completed) -> str:
    """How a child ended in words, with the last lines it printed."""
    how = (
        f"was ended by {signal.Signals(-done.exit_code).name}"
        if done.exit_code < 0
        else f"exited with {done.exit_code}"
    )
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()
    lines = (_of_the_program(said) or said)[-3:]
    return f"{how}: {' / '.join(lines)}" if lines else how


def _of_the_program(lines: Sequence[str]) -> list[str]:
    """Without what Open MPI adds when a rank gives up: a text between rules, lines of its own."""
    found, within = [], False
    for line in lines:
        if _RULE.fullmatch(line):
            within = not within
        elif not within and not _LAUNCHER.match(line):
            found.append(line)
    return found


def _child_setup(
    cpus: tuple[int, ...],
    cgroups: tuple[Path, ...],
    controls: tuple[tuple[int, int], ...],
    survives_us: bool,
) -> Callable[[], None]:
    parent = os.getpid()

    def setup() -> None:
        for folder in cgroups:  # 0 stands for the writer itself (cgroups(7))
            (folder / "cgroup.procs").write_text("0", encoding="ascii")
        if cpus:
            os.sched_setaffinity(0, cpus)
        for option, value in controls:
            if _libc.prctl(option, value, 0, 0, 0) != 0:
                os._exit(126)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if not survives_us:
            _end_with(parent)

    return setup


@contextlib.contextmanager
def workers(count: int) -> Iterator[Executor]:
    """So many processes that carry out functions of ours beside each other.

    They end with the block, where it fails without beginning what they have not begun, and when we
    are killed, so that `AFERIR_OWNER` need not tell whose they are. An interrupt is for who waits
    for them.
    """
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - 3 MB that the rest saves
    from multiprocessing import get_context  # noqa: PLC0415

    with ProcessPoolExecutor(count, get_context("spawn"), _work_for, (os.getpid(),)) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _work_for(parent: int) -> None:
    _end_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_with(parent: int) -> None:
    """Have this process killed when the thread of its `parent` that started it ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the request took effect
        os._exit(127)
