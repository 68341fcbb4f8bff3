"""Runs a program in a container through lxc-attach(1)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from aferir.errors import MissingError, ProgramError
from aferir.linux import process, undo
from aferir.linux.process import Completed

_NOT_SEALED = "Device or resource busy - Failed to rexec as memfd\n"
"""Start of lxc-attach(1)'s message if it could not seal the copy of itself that it runs
(CVE-2019-5736), because the kernel was moving a page of it. It has then not entered the container.
"""
_TRIES = 10
"""Largest number of attempts; the error occurred twice in a day of tests, never twice in a row."""
_NOT_RUN = re.compile(r"^lxc-attach: .* (.+) - Failed to exec ", re.MULTILINE)


def run_marked(
    command_line: Sequence[str],
    command: Sequence[str],
    *,
    mark: str,
    timeout_s: float | None,
    controls: Sequence[tuple[int, int]] = (),
    check: bool,
) -> Completed:
    """Run `command_line`, which runs `command` in a container with `mark` in its environment.

    After a time limit or an interruption, all processes with that mark are killed. Errors: as of
    `process.run`.
    """
    try:
        for _ in range(_TRIES):
            done = process.run(
                command_line,
                timeout_s=timeout_s,
                controls=controls,
                check=False,
                shown=command,
            )
            if not done.stderr.startswith(_NOT_SEALED):
                break
    except BaseException:
        undo.kill_marked(mark)
        raise
    return _judge(msgspec.structs.replace(done, command=tuple(command)), check=check)


def _judge(done: Completed, *, check: bool) -> Completed:
    """Raise an error if the program could not be started, or failed; else return its result."""
    found = _NOT_RUN.search(done.stderr)
    if done.exit_code in (126, 127) and found:
        raise MissingError(
            f"the program `{done.command[0]}` cannot be run in the container: {found[1]}",
            remedy="put it there first, or check its mode",
        )
    if 128 < done.exit_code <= 128 + 64:
        done = msgspec.structs.replace(done, exit_code=128 - done.exit_code)
    if check and done.exit_code != 0:
        raise ProgramError(f"`{' '.join(done.command)}` {process.explain_exit(done)}")
    return done
