"""Reads a machine's console output to explain why it did not boot."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from aferir.errors import ProgramError

_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[^\[])|[\x00-\x1f\x7f]")


def readable(said: str) -> list[str]:
    """Lines of terminal output that contain text, without control sequences (ECMA-48)."""
    plain = (_CONTROL.sub("", line).strip() for line in said.splitlines())
    return [line for line in plain if line]


def telling(lines: list[str]) -> list[str]:
    """The line of a kernel panic, without the call trace after it; else the last three lines."""
    return [line for line in lines if "Kernel panic" in line][:1] or lines[-3:]


def did_not_boot(
    program: str, child: subprocess.Popen[str], limit_s: float, consoles: Sequence[Path]
) -> ProgramError:
    """Error that a guest has not booted, with the relevant lines of its consoles.

    `program` is what users call the child that is the guest.
    """
    lines: list[str] = []
    for path in consoles:
        with contextlib.suppress(OSError):
            lines += telling(readable(path.read_text(encoding="utf-8", errors="replace")))
    ended = child.poll() is not None
    how = f"{program} ended" if ended else f"it did not within {limit_s:g} s"
    return ProgramError(
        f"the guest did not boot: {how}: {' / '.join(lines) or 'nothing was printed'}",
        remedy="give it more memory, or free memory and CPUs on this host",
    )
