"""The batch program's control group as a transient unit, where systemd owns the hierarchy.

systemd switches off controllers of version 2 that none of its own units needs, and removes what is
not its own when it cleans up. A scope with `Delegate=` keeps its controllers and is seen by
`systemctl status` (systemd.resource-control(5), https://systemd.io/CGROUP_DELEGATION). A reload of
systemd writes the scope's own attributes anew: see `batch.is_as_set`.
"""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import msgspec

from aferir.errors import AferirError, ProgramError
from aferir.linux import process

_RUNS = Path("/run/systemd/system")
"""Folder that exists if and only if systemd is the first process (sd_booted(3))."""
_CONTROLLERS = "cpu cpuset io memory"
_ROOT_SLICE = "-.slice"
_FORGET_S = 60.0
_HOLDER = ("sh", "-c", "echo entered; exec sleep infinity")
"""Command that keeps the scope alive while the batch restarts: a scope ends with its last process.
"""


class Scope(msgspec.Struct, frozen=True):
    """A running scope: the folder of its control group, and the process that keeps it."""

    folder: Path
    holder: subprocess.Popen[str]


def name_of(group: str) -> str:
    """Name of the scope for a batch program's group, whose folder `cgroup.find(group)` finds."""
    return f"{group}-batch.scope"


def slice_of(root: Path, parent: Path) -> str:
    """Name of the slice with the group `parent`, in the hierarchy at `root`; "" if none has it."""
    if parent == root:
        return _ROOT_SLICE
    return parent.name if parent.name.endswith(".slice") else ""


def owns(root: Path | None, parent: Path) -> bool:
    """Whether this machine's systemd owns the hierarchy and has a slice for `parent`."""
    return root is not None and _RUNS.is_dir() and bool(slice_of(root, parent))


def start(group: str, root: Path, parent: Path) -> Scope:
    """Start the scope of the batch program's group below the slice of `parent`.

    The processes of the group are killed with it. Errors: ProgramError if systemd refuses, or the
    scope is not where the slice's group is.
    """
    unit = name_of(group)
    words = ["systemd-run", "--scope", "--quiet", "--collect", f"--unit={unit}"]
    words += [f"--slice={slice_of(root, parent)}", f"--property=Delegate={_CONTROLLERS}"]
    holder = process.start(
        [*words, f"--description=batch program of aferir ({group})", "--", *_HOLDER],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stderr is not None
    folder = parent / unit
    if not holder.stdout.readline() or not folder.is_dir():
        process.end(holder)
        said = holder.stderr.read().strip()
        raise ProgramError(
            f"systemd does not start {unit}: {said or f'{folder} is not there'}",
            remedy="see `systemctl status` and `journalctl --unit=init.scope`",
        )
    holder.stdout.close()
    holder.stderr.close()
    return Scope(folder, holder)


def forget(group: str) -> None:
    """Make systemd stop a scope whose control group has been removed; failures are ignored.

    systemd takes a scope for ended when the last process leaves its group. It does not notice that
    if the group is removed before.
    """
    with contextlib.suppress(AferirError):
        command = ["systemctl", "stop", "--no-block", name_of(group)]
        process.run(command, timeout_s=_FORGET_S, check=False)
