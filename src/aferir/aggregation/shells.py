"""A shell script run in a place, and what it printed."""

from __future__ import annotations

from collections.abc import Callable

from aferir.errors import ProgramError, TimeoutExpired
from aferir.linux import process
from aferir.linux.process import Completed

MAKING_S = 60.0
"""The time within which a network is made."""


def output(run: Callable[..., Completed], text: str, timeout_s: float) -> str:
    """What a script printed; an error names its last words, not all of its lines.

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
