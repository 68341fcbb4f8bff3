"""Requests to QEMU's monitor about a guest (QMP)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aferir.environments.jsonsocket import JsonSocket
from aferir.environments.qemu import command_line


def ask(folder: Path, command: str, arguments: Mapping[str, object] | None = None) -> Any:
    """Answer to one command about the guest whose files are in `folder`.

    Errors: ProgramError if the monitor does not answer, or refuses.
    """
    with JsonSocket(command_line.monitor(folder)) as connection:
        connection.connect(5.0)
        connection.greet(30.0)
        return connection.ask(command, arguments)


def processors(folder: Path, pid: int) -> tuple[Path, ...]:
    """Stat files of the threads that run the guest's processors; several may share a thread."""
    threads = {int(one["thread-id"]) for one in ask(folder, "query-cpus-fast")}
    return tuple(Path(f"/proc/{pid}/task/{thread}/stat") for thread in sorted(threads))
