"""Nodes of a Slurm cluster, by salloc(1) and srun(1).

salloc runs our command, which exits at end of file on standard input, so the allocation is released
however this process ends. The journal covers the case that salloc itself is killed.
"""

from __future__ import annotations

import contextlib
import shlex
import subprocess
from collections.abc import Sequence

from aferir.allocations.base import Allocator
from aferir.errors import AferirError, MissingError
from aferir.linux import journal, process, ssh
from aferir.model.host import AllocationSpec, SlurmKeys

NAME = "slurm"
_MARK = "aferir-allocated"
_HELD = (
    f'printf "\\n{_MARK} %s %s\\n" "$SLURM_JOB_ID" '
    '"$(scontrol show hostnames "$SLURM_JOB_NODELIST" | tr "\\n" " ")"; cat > /dev/null'
)
_ENDING_S = 30.0
_ASKED_S = 60.0


class SlurmAllocation:
    """A Slurm job that holds its nodes until `release`."""

    def __init__(self, child: subprocess.Popen[str], entry: journal.Entry, keys: SlurmKeys) -> None:
        self._child = child
        self._entry = entry
        job, nodes = _told(child)
        self.reach = tuple(
            (
                *keys.by,
                *("srun", "--jobid", job, "--nodelist", node, "--nodes=1", "--ntasks=1"),
                *("--overlap", "--unbuffered", "--quiet", "--cpu-bind=none", "--mpi=none"),
            )
            for node in nodes
        )

    def release(self) -> None:
        """End the job, and return once it is gone."""
        _end(self._child)
        give_back(self._entry)


def allocate(spec: AllocationSpec) -> SlurmAllocation:
    """Wait for `spec.nodes` nodes, and hold them. Errors: MissingError with Slurm's message."""
    keys = spec.keys
    assert isinstance(keys, SlurmKeys)
    entry = journal.write(NAME, {"by": shlex.join(keys.by)})
    line = ["salloc", "--quiet", f"--job-name={_job(entry)}", f"--nodes={spec.nodes}"]
    line += ["--ntasks-per-node=1", "--exclusive", *keys.options, "sh", "-c", _HELD]
    try:
        child = process.start(
            [*ssh.unattended(keys.by), *_as_words(keys.by, line)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            survives_us=True,  # it ends with its standard input, and gives the nodes back
        )
    except BaseException:
        journal.erase(entry)
        raise
    try:
        return SlurmAllocation(child, entry, keys)
    except BaseException:
        process.end(child)  # one that waits for its turn reads no input
        with contextlib.suppress(AferirError):  # the journal has it still
            give_back(entry)
        raise


def give_back(entry: journal.Entry) -> None:
    """Cancel the entry's job, if there is one, and erase the entry. Errors: ProgramError."""
    by = shlex.split(entry.details.get("by", ""))
    try:
        line = [*ssh.unattended(by), "scancel", f"--name={_job(entry)}"]
        process.run(line, timeout_s=_ASKED_S)
    except MissingError:  # without Slurm there is no job
        journal.erase(entry)
        return
    journal.erase(entry)


def _told(child: subprocess.Popen[str]) -> tuple[str, Sequence[str]]:
    """Read the job's ID and nodes from its output. Errors: MissingError with salloc's message."""
    assert child.stdout is not None
    for line in child.stdout:
        words = line.split()
        if words[:1] == [_MARK] and len(words) > 2:
            return words[1], words[2:]
    said = child.stderr.read().strip() if child.stderr else ""
    raise MissingError(
        f"Slurm allocates no nodes: {said[-300:] or 'salloc says nothing'}",
        remedy="see `sinfo`, and the `options` of [slurm]",
    )


def _end(child: subprocess.Popen[str]) -> None:
    if child.stdin is not None:
        child.stdin.close()
    try:
        child.wait(_ENDING_S)
    except subprocess.TimeoutExpired:
        process.end(child)


def _as_words(by: Sequence[str], line: Sequence[str]) -> tuple[str, ...]:
    """Return the command, quoted if `by` is ssh, which passes its words to a shell."""
    return (shlex.join(line),) if ssh.is_ssh(by) else tuple(line)


def _job(entry: journal.Entry) -> str:
    return f"aferir-{entry.id}"


ALLOCATOR = Allocator(name=NAME, allocate=allocate, give_back=give_back)
