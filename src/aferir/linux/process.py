"""The only place that starts child processes.

Every child has `AFERIR_OWNER` in its environment, so that one left over by a SIGKILL can be
distinguished from other processes (see `aferir.linux.journal`), and dies with us if the kernel
permits it.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from aferir.errors import MissingError, ProgramError, TimeoutExpired
from aferir.linux import interrupts, spawn, starting, steady, wait
from aferir.linux.running import is_stopped

if TYPE_CHECKING:
    from concurrent.futures import Executor

OWNER_VARIABLE = "AFERIR_OWNER"
ALONE = ("unshare", "--fork", "--pid", "--kill-child")
"""Prefix of a command run as root, by which all its descendants are killed with it, however aferir
ends. Only descendants that change their own credentials are not (prctl(2), PR_SET_PDEATHSIG).
"""
_GRACE_S = 2.0
_REST_S = 0.2
"""Time limit in s for reading the last output of a killed child, which is in the pipes by then.
Other processes that still hold the pipes open are not waited for.
"""
_LINE = 200
"""Longest line in characters of a program's output in an error."""
_LOOK_S, _LOOK_SHARE = 0.5, 0.02
"""Polling period of a child: the larger of this time in s and this share of its time limit."""
_LONGEST_STOP_S = 24 * 3600.0
_RULE = re.compile(r"-{70,}")
"""Line of dashes that begins and ends each message of Open MPI."""
_LAUNCHER = re.compile(r"\[[\w.-]+:\d+\] |\[warn\] Epoll ")
"""Prefix of lines that Open MPI and its libevent print, sometimes after a rank's end."""


class Completed(msgspec.Struct, frozen=True):
    """A child that has ended."""

    command: tuple[str, ...]
    exit_code: int
    """Exit code; -N: ended by signal N."""
    stdout: str
    stderr: str
    started_unix_ns: int
    duration_s: float
    stopped_s: float = 0.0
    """Part of the duration in s in which the program was stopped by SIGSTOP, as far as detected."""
    others: tuple[Completed, ...] = ()
    """Results of the other tenants of the same environment."""
    started_bound_ns: int = 0
    """Largest error of `started_unix_ns` in ns; 0 if the program ran on this host."""


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
    shown: Sequence[str] = (),
) -> Completed:
    """Run `command` to its end and capture its output.

    Only time in which both it and we run counts towards `timeout_s`: see `aferir.linux.running`.
    `shown` is the command that an expired limit names, if `command` only leads to it.

    Errors: MissingError if the program does not exist, TimeoutExpired after `timeout_s`,
    ProgramError (with its last lines of output) on a non-zero exit when `check` is set.
    """
    started = steady.unix_ns()
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
        _kill(child, _GRACE_S)
        said = _last_errors(child)
        end(child)
        raise out_of_time(shown or command, timeout_s, said) from None
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


def out_of_time(command: Sequence[str], timeout_s: float | None, said: str = "") -> TimeoutExpired:
    """Error about a program that was ended after its time limit; names it without its folder.

    `said` is its standard error: the last line of it is included.
    """
    named = " ".join((Path(command[0]).name, *command[1:]))
    lines = [line.strip() for line in said.splitlines() if line.strip()][-1:]
    last = "".join(c if c.isprintable() else "?" for c in "".join(lines)[:_LINE])
    return TimeoutExpired(
        f"`{named}` was ended after its time limit of {timeout_s:g} s"
        f"{'; it said last: ' if last else ''}{last}",
        remedy="raise the workload's time_limit, or --limit, or choose a smaller problem",
    )


def _last_errors(child: subprocess.Popen[str]) -> str:
    """Standard error of a child that has been killed."""
    try:
        return child.communicate(timeout=_REST_S)[1]
    except subprocess.TimeoutExpired as late:
        return bytes(late.stderr or b"").decode("utf-8", "replace")


def _communicate(
    child: subprocess.Popen[str], input_text: str | None, timeout_s: float | None
) -> tuple[str, str, float]:
    """Output of the child until its end, and the time in s for which it was stopped.

    It is waited for in intervals, each of which counts at its nominal length: while we or the
    program are stopped, the time limit does not advance. Intervals are seconds long at long limits,
    since polling takes CPU time from the measured program. Errors: subprocess.TimeoutExpired after
    `timeout_s`.
    """
    if timeout_s is None or input_text is not None:
        # A second communicate() of Python 3.11 loses input that it has not written yet.
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
    """Start `command` in its own process group; the caller ends it with `end`.

    It runs on `cpus` only and is a member of the control groups `cgroups` (folders) from before its
    first instruction, so that none of its children escapes their limits. `controls` are options of
    prctl(2) with their values; if the kernel refuses one the child exits with 126. `handles` are
    file descriptors that it inherits under the same numbers. Unless `survives_us` is set, the child
    is killed when the *thread* that called this function ends (prctl(2), PR_SET_PDEATHSIG), so call
    it from the main thread. Errors: MissingError of the program, ProgramError of what it is set to.
    """
    variables = {**os.environ, OWNER_VARIABLE: str(os.getpid()), **(environment or {})}
    parent = 0 if survives_us else os.getpid()
    setup = spawn.Setup(parent, tuple(cpus), tuple(cgroups), tuple(controls))
    child: subprocess.Popen[str] | None = None
    try:
        with starting.named(), interrupts.delayed():
            child = spawn.spawn(
                command,
                setup,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                variables=variables,
                directory=directory,
                handles=handles,
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
    except BaseException:  # of a signal's handler
        if child is not None:
            end(child)
        raise
    return child


def end(child: subprocess.Popen[str], grace_s: float = _GRACE_S) -> int:
    """End a child and its process group: SIGINT, SIGTERM, each with `grace_s`, then SIGKILL.

    Processes that the child left in its group are killed too. A child that had ended before is only
    waited for, since its pid may have been reused.
    """
    if child.poll() is None:
        _kill(child, grace_s)
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            stream.close()
    return child.wait()


def _kill(child: subprocess.Popen[str], grace_s: float) -> None:
    """End a child that has not been waited for, so that its pid is still its own."""
    for number in (signal.SIGINT, signal.SIGTERM):
        os.killpg(child.pid, number)
        if _ends_within(child.pid, grace_s):
            break
    os.killpg(child.pid, signal.SIGKILL)


def _ends_within(pid: int, seconds: float) -> bool:
    """Wait for a child, but do not reap it, since that would release its pid."""

    def ended() -> bool:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    return wait.until(ended, wait.after(seconds), period_s=0.005)


def explain_exit(done: Completed) -> str:
    """Sentence about how a child ended, with its last lines of output.

    Where Open MPI alone said something, these are its first lines: the last ones are advice.
    """
    how = (
        f"was ended by {signal_name(-done.exit_code)}"
        if done.exit_code < 0
        else f"exited with {done.exit_code}"
    )
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()
    launchers = [line for line in said if line.strip() and not _RULE.fullmatch(line)]
    lines = _of_the_program(said)[-3:] or launchers[:3]
    return f"{how}: {' / '.join(lines)}" if lines else how


def signal_name(number: int) -> str:
    """Name of a signal; one of the real-time signals is counted from SIGRTMIN (signal(7))."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"


def _of_the_program(lines: Sequence[str]) -> list[str]:
    """Lines of the program itself, without the lines that Open MPI adds when a rank fails."""
    found, within = [], False
    for line in lines:
        if _RULE.fullmatch(line):
            within = not within
        elif not within and not _LAUNCHER.match(line):
            found.append(line)
    return found


@contextlib.contextmanager
def workers(count: int) -> Iterator[Executor]:
    """Pool of worker processes that run functions of ours concurrently.

    They end with the block, and when we are killed, so they need no `AFERIR_OWNER`; if the block
    fails, functions that have not started are not started. Workers ignore SIGINT, which the caller
    handles.
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
    spawn.end_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
