"""The other hosts of an environment over several, as a program on the first of them reaches them.

Programs learn of them by the environment variables of `model.variables`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from aferir.errors import MissingError, ProgramError
from aferir.linux import process
from aferir.model.variables import ADDRESSES, ENTER, HOSTS
from aferir.programs.base import Command

_LIMIT_S = 60.0
_THERE = 'AFERIR_KERNELS="$AFERIR_PROGRAMS" exec "$AFERIR_PYTHON" -s "$@"'
"""Shell command that runs aferir on another host, from the copy that the host's agent brought
there."""
_SWITCHES = ("grep", "^ctxt ", "/proc/stat")


class Others(msgspec.Struct, frozen=True):
    """The other hosts, and how to run commands on them."""

    names: tuple[str, ...]
    address: str
    """Address of this host, at which the others reach it."""
    enter: str
    """Program that runs a command on another host."""

    def line(self, name: str, shell: str) -> list[str]:
        """Command that runs shell commands on the host `name`, and prints what they print."""
        return [self.enter, name, shell]

    def sharing_our_kernel(self) -> tuple[str, ...]:
        """Names of hosts that have this host's kernel, as containers of one machine have.

        Errors: those of running a command there.
        """
        return tuple(one for one in self.names if shares_kernel(partial(self._switches, one)))

    def _switches(self, name: str) -> int:
        return _number(process.run(self.line(name, " ".join(_SWITCHES)), timeout_s=_LIMIT_S).stdout)


def others() -> Others | None:
    """The other hosts; None if the environment is on one host.

    Errors: MissingError if the first host has no address that others reach.
    """
    first, *names = os.environ.get(HOSTS, "").split() or [""]
    if not names:
        return None
    address = os.environ.get(ADDRESSES, "").partition(" ")[0]
    if not address:
        raise MissingError(
            f"{first} has no address that {names[0]} could ask", remedy="see `ip address` there"
        )
    return Others(tuple(names), address, os.environ[ENTER])


def shares_kernel(there: Callable[[], int]) -> bool:
    """Whether another host, whose context switches since boot `there` counts, has our kernel.

    That number only grows (proc_stat(5)): of one kernel, it is between two numbers read here before
    and afterwards. Boot IDs may differ where one kernel runs several containers.
    """
    before, middle, after = _here(), there(), _here()
    return before <= middle <= after


def _here() -> int:
    return _number(Path("/proc/stat").read_text(encoding="ascii"))


def _number(text: str) -> int:
    """Context switches in the text of /proc/stat. Errors: ProgramError if there are none."""
    found = re.search(r"^ctxt (\d+)$", text, flags=re.MULTILINE)
    if found is None:
        raise ProgramError("/proc/stat does not say how many context switches there were")
    return int(found.group(1))


def aferir_there(line: tuple[str, ...], files: tuple[Path, ...]) -> Command:
    """Command that runs aferir, with `line` as Python's arguments, on the first of other hosts.

    `files`: aferir's programs that it starts, on any of the hosts.
    """
    return Command(Path("/bin/sh"), ("-c", _THERE, "sh", *line), files=files)
