"""Runs a shell script in a place and returns its output."""

from __future__ import annotations

from collections.abc import Callable

from aferir.errors import ProgramError, TimeoutExpired
from aferir.linux import process
from aferir.linux.process import Completed

MAKING_S = 60.0
"""Seconds within which a network must be created."""


def output(run: Callable[..., Completed], text: str, timeout_s: float) -> str:
    """Output of a script; an error contains its last words, not the script.

    Errors: ProgramError, TimeoutExpired.
    """
    try:
        done = run(["sh", "-c", text], timeout_s=timeout_s, check=False)
    except TimeoutExpired:
        raise TimeoutExpired(
            f"a test network was ended after {timeout_s:g} s",
            remedy="stop what else runs on this machine, or choose fewer hosts, slower links or"
            " fewer seconds",
        ) from None
    if done.exit_code != 0:
        raise ProgramError(f"a test network {process.explain_exit(done)}")
    return done.stdout
