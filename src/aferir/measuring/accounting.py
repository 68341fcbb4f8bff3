"""Runs `io-account` beside a program: from before the first snapshot to after the last one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aferir.environments.base import Accounting
from aferir.linux import process
from aferir.probes import account

_END_S = 30.0


class Watching:
    """Account of the run, available once the program has ended."""

    def __init__(self) -> None:
        self.account: account.Account | None = None


@contextmanager
def watching(program: Path | None, accounting: Accounting, *arguments: str) -> Iterator[Watching]:
    """Run `program` during the block to account for CPU time; does nothing if `program` is None.

    `account` is set after the block; it stays None if the program could not measure, as without
    root.
    """
    found = Watching()
    if program is None:
        yield found
        return
    line = [str(program), *target(accounting), *arguments]
    child = process.start(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        yield found
        stdout, _ = child.communicate(timeout=_END_S)
        found.account = account.parse(stdout)
    finally:
        process.end(child)


def target(accounting: Accounting) -> tuple[str, ...]:
    """Options that name the instance's control group or process, to be accounted separately."""
    folder = accounting.cgroups.get("unified")
    if folder is not None and os.access(folder, os.R_OK):
        return ("--group", str(folder))
    if accounting.processes:
        return ("--process", str(accounting.processes[0]))
    return ()
