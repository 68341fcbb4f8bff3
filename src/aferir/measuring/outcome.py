"""Tells why a cell has no figures: memory or disk exhausted, killed, or the program's own fault."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from aferir.errors import AferirError
from aferir.linux.process import Completed
from aferir.linux.refusal import is_exhausted, refused
from aferir.model.record import Failure, Sample
from aferir.probes.memory import KILLS

OUT_OF_MEMORY = "out-of-memory"
DISK_FULL = "disk-full"
KILLED = "killed"
OTHERS_DIE = (
    "see whether the program kills others than its own processes, or give its environment more "
    "memory"
)
"""Remedy for a program that ended by a kill, or with which its instance died."""
MORE_MEMORY = "give its environment more `memory`, or the program less to do"
_TOLD_APART = ("program", "instance")
_FULL = re.compile(r"no space left on (?:the )?device|the disk is full", re.IGNORECASE)
_REFUSED = re.compile(r"MiB are available|^out of memory: |: out of memory: ", re.MULTILINE)
_KILLED = re.compile(r"was ended by SIG|was killed|^Killed$", re.MULTILINE)


class _Error(msgspec.Struct, frozen=True):
    message: str
    remedy: str = ""


class _Complaint(msgspec.Struct, frozen=True):
    error: _Error


def failure_of(code: str, error: AferirError | OSError, said: str = "{}") -> Failure:
    """Make a failure from an error's message, formatted into `said`, and from its remedy if any."""
    remedy = error.remedy if isinstance(error, AferirError) else ""
    return Failure(code, said.format(error), remedy)


def with_remedy(failure: Failure) -> Failure:
    """Add a remedy to the failure of a killed program or instance, unless it has one already."""
    return failure if failure.remedy else msgspec.structs.replace(failure, remedy=OTHERS_DIE)


def refuse_exhaustion(error: AferirError | OSError, what: str) -> None:
    """Raise RefusedError if aferir itself lacks files, processes or memory to start `what`."""
    if isinstance(error, OSError) and is_exhausted(error):
        remedy = f"{refused(error).remedy}, and run again: the run goes on where it stopped"
        raise refused(error, what, "started", remedy=remedy) from None


def complaint(stdout: str) -> Failure | None:
    """Failure that an aferir command reports as JSON on its last line; None without one."""
    last = stdout.rstrip().rpartition("\n")[2]
    try:
        told = msgspec.json.decode(last, type=_Complaint).error
    except msgspec.DecodeError:
        return None
    return Failure("program", told.message, told.remedy)


def told_apart(failure: Failure, done: Completed | None, observed: Sequence[Sample]) -> Failure:
    """Replace a failure's code by that of its cause, found in OOM kills or stderr."""
    if failure.code not in _TOLD_APART or done is None:
        return failure
    killed = sum(sample.value for sample in observed if sample.metric == KILLS)
    if killed:
        said = "process" if killed == 1 else "processes"
        message = f"out of memory: the kernel killed {killed:.0f} {said}; {failure.message}"
        remedy = "; ".join(filter(None, (MORE_MEMORY, failure.remedy)))
        return Failure(OUT_OF_MEMORY, message, remedy)
    ended = [one for one in (done, *done.others) if one.exit_code != 0]
    said = "\n".join(one.stderr for one in ended)
    if _FULL.search(said):
        return msgspec.structs.replace(failure, code=DISK_FULL)
    if _REFUSED.search(said):
        return msgspec.structs.replace(failure, code=OUT_OF_MEMORY)
    if _KILLED.search(said) or any(one.exit_code < 0 for one in ended):
        return with_remedy(msgspec.structs.replace(failure, code=KILLED))
    return failure
