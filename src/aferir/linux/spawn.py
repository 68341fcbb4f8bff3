"""Makes a process that sets itself up before it executes its program.

Our program `start` does the set-up, after vfork(2): running `true` takes 1.4 to 1.7 ms, whatever
the size of this process. With fork(2), after which Python could do it, the kernel copies our page
tables: 3.4 ms at 16 MB, and 14 ms at 161 MB. It is done so where `start` is not installed, as on
the host of an agent.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

from aferir import installed
from aferir.errors import MissingError, ProgramError

_PR_SET_PDEATHSIG = 1
_REFUSED, _FAILED = 126, 127
"""Exit codes of a process to which the kernel refuses a control, or whose maker has gone."""
_FAILURE = struct.Struct("=ii")
"""What `start` reports: errno, and the index of the word of its command line that failed."""
_libc = ctypes.CDLL(None, use_errno=True)


class Setup(msgspec.Struct, frozen=True):
    """What a process does to itself before it executes its program; it also dumps no core."""

    parent: int = 0
    """Process with whose calling thread the kernel kills this one; 0: it survives."""
    cpus: tuple[int, ...] = ()
    cgroups: tuple[Path, ...] = ()
    """Folders of control groups that it joins."""
    controls: tuple[tuple[int, int], ...] = ()
    """Options of prctl(2) with their values. If the kernel refuses one, it exits with 126."""

    def words(self) -> list[str]:
        """The same as options of `start` (native/linux/start.c)."""
        return [
            *(f"join={folder}/cgroup.procs" for folder in self.cgroups),
            *([f"cpus={','.join(map(str, self.cpus))}"] if self.cpus else []),
            *(f"control={option},{value}" for option, value in self.controls),
            *([f"parent={self.parent}"] if self.parent else []),
        ]

    def apply(self) -> None:
        """Do it to the calling process, between fork(2) and execve(2)."""
        for folder in self.cgroups:  # 0 stands for the writer itself (cgroups(7))
            (folder / "cgroup.procs").write_text("0", encoding="ascii")
        if self.cpus:
            os.sched_setaffinity(0, self.cpus)
        for option, value in self.controls:
            if _libc.prctl(option, value, 0, 0, 0) != 0:
                os._exit(_REFUSED)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if self.parent:
            end_with(self.parent)


def end_with(parent: int) -> None:
    """Have the kernel kill this process when the thread that started it, in `parent`, ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the request took effect
        os._exit(_FAILED)


def spawn(
    command: Sequence[str],
    setup: Setup,
    *,
    stdin: int,
    stdout: int,
    stderr: int,
    variables: Mapping[str, str],
    directory: Path | None,
    handles: Sequence[int],
) -> subprocess.Popen[str]:
    """A process that has executed `command`, in a process group of its own.

    It inherits the file descriptors `handles` under the same numbers. Errors: FileNotFoundError and
    PermissionError of the program, ProgramError if the set-up fails.
    """
    program = _program(os.environ.get(installed.FOLDER_VARIABLE))
    source, sink = os.pipe()
    with open(source, "rb") as report:  # noqa: PTH123 - a descriptor
        words, passed = list(command), tuple(handles)
        if program is not None:
            words = [str(program), str(sink), *setup.words(), "--", *command]
            passed = (*handles, sink)
        try:
            child = subprocess.Popen(
                words,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=variables,
                cwd=directory,
                text=True,
                encoding="utf-8",
                errors="replace",
                process_group=0,
                pass_fds=passed,
                preexec_fn=setup.apply if program is None else None,
            )
        finally:
            os.close(sink)
        failure = report.read()
    if not failure:
        return child
    with child:  # closes its pipes and waits for it
        number, at = _FAILURE.unpack(failure)
    if at == len(words) - len(command):
        raise OSError(number, os.strerror(number), command[0])
    raise ProgramError(f"`{command[0]}` cannot be started: {words[at]}: {os.strerror(number)}")


@cache
def _program(_chosen: str | None) -> Path | None:
    """Our program `start`; None if it is not in the folder of programs that is chosen now."""
    try:
        return installed.program("start").absolute()
    except (MissingError, OSError):
        return None
