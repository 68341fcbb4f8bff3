"""Trials that take minutes each: every outcome is on the disk before the next one starts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from aferir.errors import UsageError
from aferir.selftest.options import Note


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of one trial: a line of the file that `--resume` names."""

    part: str
    answer: str
    """Verdict of a gate, or the first cause of an explanation; empty: none."""
    duration_s: float
    load: float
    """Load of this machine over the minute before the trial began (getloadavg(3))."""
    said: str = ""


class Attempt(msgspec.Struct, frozen=True):
    """Answer of a trial, and further words about it."""

    answer: str
    said: str = ""


def trials(
    part: str, wanted: int, attempt: Callable[[int], Attempt], resume: Path | None, note: Note
) -> list[Trial]:
    """Return that many trials of a part, of which those in `resume` are not run again.

    `attempt` receives the number of trials before it.
    Several processes may append to one file: each reads it again before a trial, so each process
    runs at most one trial too many. Errors: as of `attempt`, UsageError for a file that is none of
    ours.
    """
    made = _recorded(part, resume)
    while len(made) < wanted:
        note(f"{part} {len(made) + 1} of {wanted}", len(made) / wanted)
        load, begun_s = os.getloadavg()[0], time.monotonic()
        found = attempt(len(made))
        trial = Trial(
            part=part,
            answer=found.answer,
            duration_s=round(time.monotonic() - begun_s, 1),
            load=load,
            said=found.said,
        )
        made.append(trial)
        if resume is not None:
            _append(resume, trial)
            made = _recorded(part, resume)
    return made


def _recorded(part: str, resume: Path | None) -> list[Trial]:
    if resume is None or not resume.exists():
        return []
    try:
        made = msgspec.json.Decoder(Trial).decode_lines(resume.read_bytes())
    except msgspec.DecodeError as error:
        raise UsageError(
            f"{resume} is no file of trials: {error}", remedy="name another, or a new one"
        ) from None
    return [one for one in made if one.part == part]


def _append(path: Path, trial: Trial) -> None:
    """Append one line by a single write(2), so that lines of several processes do not mix."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        os.write(handle, msgspec.json.encode(trial) + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)
