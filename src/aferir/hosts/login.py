"""Tells why a host that lets ssh in starts no shell of ours.

sshd runs the account's own shell, or a command to which the key is bound (sshd(8), AUTHORIZED_KEYS
FILE FORMAT). Which options a key has, a client is told that asks for debugging output.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Sequence

from aferir.hosts import frames
from aferir.linux import process, ssh, wait

_OPTIONS = re.compile(r"Remote: (\S+): key options:(.*)")
REFUSING = (
    "its login works and starts no shell: where the account's shell refuses (nologin, false), "
    "`chsh -s /bin/sh` there; where sshd has a ForceCommand, name another account in `reach`"
)
"""Remedy for an account that ssh enters without starting a shell, if its key is not the reason."""


def bound(reach: Sequence[str], within_s: float) -> str:
    """Remedy for a key that is bound to a command; empty if it is not, as far as sshd tells.

    `reach`, a command of ssh, logs in once more, for at most `within_s`, and requests no session:
    no command is run.
    """
    where = _bound_by(reach, within_s)
    if not where:
        return ""
    return (
        f"its key is bound to a command by {where} there: remove `command=`, or take another key "
        "(IdentityFile)"
    )


def _bound_by(reach: Sequence[str], within_s: float) -> str:
    """File and line there that bind the key to a command; empty if none does, as far as known."""
    first, *rest = ssh.unattended(reach)
    child = process.start(
        [first, "-v", "-N", "-S", "none", *rest], stderr=subprocess.PIPE, survives_us=True
    )
    assert child.stderr is not None
    reader, deadline_s = frames.Reader(child.stderr.fileno()), wait.after(within_s)
    try:
        with contextlib.suppress(frames.Silence):
            while (line := reader.line(wait.left_s(deadline_s))) is not None:
                found = _OPTIONS.search(line.decode("utf-8", "replace"))
                if found is not None:
                    return found[1] if "command" in found[2].split() else ""
    finally:
        process.end(child)
    return ""
