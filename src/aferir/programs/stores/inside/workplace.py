"""A folder for the files of one run, and the programs that were started in it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from aferir.programs.stores.inside.outcome import FailedError, explain, out_of_memory_kills

FOLDER_VARIABLE = "AFERIR_SCRATCH"
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class Child:
    """A running program, which is killed together with this process."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.log = log
        self._process = process
        self._killed_before = out_of_memory_kills()

    @property
    def pid(self) -> int:
        """Process ID of the program."""
        return self._process.pid

    def ensure_alive(self) -> None:
        """Raise FailedError with the reason if the program has ended."""
        code = self._process.poll()
        if code is not None:
            raise FailedError(self._explain(code))

    def ensure_stays_alive(self) -> None:
        """Like `ensure_alive`, for a program that may be about to end."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        self.ensure_alive()

    def wait(self) -> None:
        """Wait for the program's end. Errors: FailedError if it failed."""
        code = self._process.wait()
        if code != 0:
            raise FailedError(self._explain(code))

    def end(self) -> None:
        """Kill the program and its children, whose files are discarded anyway."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)  # not reaped, so the ID is not reused
        self._process.wait()

    def _explain(self, code: int) -> str:
        return explain(self.name, code, self.log, killed_before=self._killed_before)


class Workplace:
    """The folder, and all programs started in it; created by `workplace`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._children: list[Child] = []

    def start(
        self,
        command: Sequence[str],
        *,
        name: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> Child:
        """Start a program in the folder; its output goes to `NAME.log` there.

        Errors: FailedError if it is not installed.
        """
        name = name or Path(command[0]).name
        log = self.folder / f"{name}.log"
        try:
            with log.open("wb") as said:
                process = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=subprocess.STDOUT,
                    cwd=self.folder,
                    env={**os.environ, "PATH": _search_path(), **(environment or {})},
                    process_group=0,
                    preexec_fn=_die_with_parent,  # noqa: PLW1509 - no threads here
                )
        except FileNotFoundError:
            raise FailedError(f"the program `{command[0]}` is not in this environment") from None
        child = Child(name, process, log)
        self._children.append(child)
        return child

    def run(self, command: Sequence[str], *, name: str = "") -> str:
        """Run a program to its end; returns its output. Errors: FailedError."""
        child = self.start(command, name=name)
        child.wait()
        return child.log.read_text(encoding="utf-8", errors="replace")

    def end_all(self) -> None:
        """Kill all running programs, the last one first."""
        for child in reversed(self._children):
            child.end()


@contextlib.contextmanager
def workplace(name: str) -> Iterator[Workplace]:
    """A new folder below `AFERIR_SCRATCH`, removed in the end with all programs started in it."""
    base = Path(os.environ.get(FOLDER_VARIABLE, "/var/tmp"))  # noqa: S108 - a name of its own below
    base.mkdir(parents=True, exist_ok=True)
    place = Workplace(Path(tempfile.mkdtemp(prefix=f"aferir-{name}-", dir=base)))
    try:
        yield place
    finally:
        place.end_all()
        shutil.rmtree(place.folder, ignore_errors=True)


def end_on_signals() -> None:
    """Let SIGTERM raise SystemExit as SIGINT does, so that an interrupted run cleans up."""

    def unwind(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, unwind)
    signal.signal(signal.SIGINT, unwind)


def _search_path() -> str:
    """The search path, with the folders of system programs that a user's may lack."""
    return os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
