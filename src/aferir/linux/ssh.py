"""Commands that reach another machine, with options so that ssh(1) neither prompts nor hangs."""

from __future__ import annotations

from collections.abc import Sequence

_OPTIONS = (
    *("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=8"),
    *("-o", "ServerAliveInterval=3", "-o", "ServerAliveCountMax=2"),
)

UNKNOWN_KEYS = ("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null")
"""Options with which any host key is accepted, and none remembered."""


def is_ssh(command: Sequence[str]) -> bool:
    """True if the command is ssh, which passes its remaining arguments to a shell."""
    return bool(command) and command[0].rpartition("/")[2] == "ssh"


def unattended(command: Sequence[str]) -> list[str]:
    """The command; if it is ssh, it fails instead of prompting or waiting for a lost host."""
    if not is_ssh(command):
        return list(command)
    first, *rest = command
    return [first, *_OPTIONS, *rest]
