"""Why a cell has no figures, told apart by code: what ran out, who killed it, or the program."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from aferir.model.record import Failure, Sample
from aferir.probes.memory import KILLS
from aferir.process import Completed

OUT_OF_MEMORY = "out-of-memory"
DISK_FULL = "disk-full"
KILLED = "killed"
_TOLD_APART = ("program", "instance")
_FULL = re.compile(r"no space left on (?:the )?device|the disk is full", re.IGNORECASE)
_REFUSED = re.compile(r"MiB are available|^out of memory: |: out of memory: ", re.MULTILINE)
_KILLED = re.compile(r"was ended by SIG|was killed|^Killed$", re.MULTILINE)


def told_apart(failure: Failure, done: Completed | None, observed: Sequence[Sample]) -> Failure:
    """The failure under the code of its cause, which the kernel's counts and the program tell."""
    if failure.code not in _TOLD_APART or done is None:
        return failure
    killed = sum(sample.value for sample in observed if sample.metric == KILLS)
    if killed:
        said = "process" if killed == 1 else "processes"
        message = f"out of memory: the kernel killed {killed:.0f} {said}; {failure.message}"
        return Failure(OUT_OF_MEMORY, message)
    ended = [one for one in (done, *done.others) if one.exit_code != 0]
    said = "\n".join(one.stderr for one in ended)
    if _FULL.search(said):
        return msgspec.structs.replace(failure, code=DISK_FULL)
    if _REFUSED.search(said):
        return msgspec.structs.replace(failure, code=OUT_OF_MEMORY)
    if _KILLED.search(said) or any(one.exit_code < 0 for one in ended):
        return msgspec.structs.replace(failure, code=KILLED)
    return failure
