"""Tells why a host that ssh reaches starts no shell of ours.

sshd runs the account's own shell, or a command to which the key is bound (sshd(8), AUTHORIZED_KEYS
FILE FORMAT). Which options a key has, a client is told that asks for debugging output. Sessions of
ssh may share one connection (ssh_config(5), ControlMaster); if it is dead, all of them hang.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
from collections.abc import Sequence

from aferir.errors import AferirError
from aferir.hosts import frames
from aferir.linux import process, ssh, wait

_OPTIONS = re.compile(r"Remote: (\S+): key options:(.*)")
_MASTER = re.compile(r"Master running \(pid=([0-9]+)\)")
_CHECK_S = 1.0
"""Time limit in s for the ssh that holds a shared connection to say so: it answers by a socket."""
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


def shared(reach: Sequence[str], own: int) -> str:
    """Remedy for a hanging session over a connection that another ssh holds; empty if none does.

    `own`: process ID of the session's ssh, which holds the connection itself if it was the first.
    """
    if not ssh.is_ssh(reach):
        return ""
    first, *rest = reach
    try:
        told = process.run([first, "-O", "check", *rest], timeout_s=_CHECK_S, check=False).stderr
    except AferirError:
        return ""
    found = _MASTER.search(told)
    if found is None or int(found[1]) == own:
        return ""
    ending = shlex.join([first, "-O", "exit", *rest])
    return f"its ssh shares a connection that may be dead, as after a cut: end it by `{ending}`"


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
