"""Runs of the store programs in the native environment, for several test files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aferir.linux import process
from aferir.linux.process import Completed
from aferir.model.plan import SCRATCH, Parameter
from aferir.programs.base import Program
from tests.unit.programs.taking import command_of, wrong_with


def usable(workload: Program[Any]) -> None:
    """Skips with the remedy where this machine lacks the program."""
    for finding in workload.check():
        if finding.status == "missing":
            pytest.skip(f"{finding.message}; {finding.remedy}")


def run(
    workload: Program[Any], parameters: dict[str, Parameter], folder: Path, prefix: str = ""
) -> Completed:
    """One run in `folder`, `prefix` being a shell's command in front; its folder has to be empty.

    The check that nothing is left is here, so that no test forgets it.
    """
    assert wrong_with(workload, parameters) == []
    command = command_of(workload, parameters)
    line = [str(command.program), *command.arguments]
    if prefix:
        line = ["unshare", "--mount", "sh", "-c", f'{prefix} exec "$0" "$@"', *line]
    done = process.run(line, environment={**command.environment, SCRATCH: str(folder)}, check=False)
    assert list(folder.iterdir()) == []
    return done


def needs_root() -> None:
    """Skips where nothing can be mounted."""
    if os.geteuid() != 0:
        pytest.skip("a small file system takes root")


def assert_timed(metrics: Mapping[str, float], done: Completed) -> None:
    """Time of processors of the measured part: some, and no more than all had in the whole run.

    How it is divided, the kernel's ticks tell: of a short run they may have seen one part alone.
    """
    own = metrics["timed_user_s"] + metrics["timed_system_s"]
    cpus = os.cpu_count() or 1
    assert 0 < own <= cpus * done.duration_s
    assert min(metrics["timed_user_s"], metrics["timed_system_s"]) >= 0
