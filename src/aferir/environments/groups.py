"""Control groups of an instance whose processes are the host's: limits, accounting, freezer."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from aferir.environments.base import Accounting
from aferir.errors import MissingError, ProgramError
from aferir.linux import affinity, cgroup, wait
from aferir.linux.journal import Entry
from aferir.model.plan import EnvironmentSpec

_FREEZE_S = 60.0
"""Time limit in s for processes to stop: one that waits for a disk stops once the disk answers."""
_ATTEMPT_S = 0.05
"""Time in s after which all are let go on for as long, and stopped anew; doubled each time."""


def name_of(entry: Entry) -> str:
    """Name of the instance and of its groups, from its journal entry."""
    return f"aferir-{entry.id}"


def make(
    entry: Entry, spec: EnvironmentSpec, cpus: Sequence[int], *, memory: bool = True
) -> dict[str, Path]:
    """Make the groups with the limits of `spec`; returns their folders by controller.

    The memory limit is left out if `memory` is False. Errors: MissingError if it is not
    permitted, or if the controller of a limit is missing.
    """
    have = cgroup.layout()
    limits = cgroup.Limits(
        cpus=affinity.cpu_limit(spec),
        memory_bytes=spec.memory_bytes if memory else None,
        nice=os.nice(0),
        accounted=True,
    )
    folders = cgroup.make(name_of(entry), limits, have)
    try:
        for controller in ("freezer", "cpuset"):
            if (root := have.v1.get(controller)) is not None:
                folders[controller] = root / name_of(entry)
                folders[controller].mkdir(exist_ok=True)
        if (group := folders.get("cpuset")) is not None:
            nodes = (group.parent / "cpuset.mems").read_text(encoding="ascii")
            (group / "cpuset.mems").write_text(nodes, encoding="ascii")
            text = ",".join(map(str, cpus))
            (group / "cpuset.cpus").write_text(text, encoding="ascii")
    except OSError as error:
        raise MissingError(
            f"control groups for environment `{spec.name}` cannot be made: {error}",
            remedy="run as root: sudo aferir ...",
        ) from None
    return folders


def accounting(
    folders: Mapping[str, Path], first_program: str, *, made_below: str, own_kernel: bool
) -> Accounting:
    """Find the groups that have members, and the host's pids of the instance's first program.

    With `own_kernel`, the pids are all those that run the instance's kernel. An engine makes a
    child group, whose name matches `made_below` (empty: none is made). That one is returned for
    `blkio`, whose accounts exclude child groups (blkio-controller.rst).
    """
    made = {name: _made(path, made_below) for name, path in folders.items()}
    members = {name: cgroup.members(path) for name, path in made.items()}
    cgroups = {
        name: made[name] if name == "blkio" else path
        for name, path in folders.items()
        if members[name] and name not in ("freezer", "cpuset")
    }
    pids = sorted(set[int]().union(*members.values()))
    first = [pid for pid in pids if own_kernel or _name(pid) == first_program]
    return Accounting(cgroups=cgroups, processes=tuple(first), own_kernel=own_kernel)


def _made(group: Path, pattern: str) -> Path:
    """Child group that an engine made for the instance, or the group itself."""
    found = sorted(group.glob(pattern)) if pattern else []
    return found[0] if found else group


def _name(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    return ""


def freeze(folders: Mapping[str, Path], *, frozen: bool) -> None:
    """Freeze or thaw all members; returns when the kernel has done so.

    Sources: freezer-subsystem.rst, cgroup-v2.rst. Errors: ProgramError if they do not stop.
    """
    if "freezer" in folders:
        file = folders["freezer"] / "freezer.state"
        done = _all_frozen(file) if frozen else _asked(file, "THAWED", wait.after(_FREEZE_S))
    elif "unified" in folders:
        file, word = folders["unified"] / "cgroup.freeze", f"frozen {frozen:d}"
        file.write_text(f"{frozen:d}", encoding="ascii")
        events = folders["unified"] / "cgroup.events"
        done = wait.until(
            lambda: word in events.read_text(encoding="ascii").splitlines(),
            wait.after(_FREEZE_S),
            period_s=0.001,
        )
    else:
        return
    if not done:
        raise ProgramError(f"its processes were not {'stopped' if frozen else 'let go on'} in time")


def _all_frozen(file: Path) -> bool:
    """Freeze the group of a `freezer.state` of version 1; returns whether all its members stopped.

    One that cannot stop while it waits for another, which has stopped, waits for ever: in execve(2)
    for the end of the program's other threads, in ptrace(2) for one that it attaches to, which
    gVisor's kernel does. Both have to go on.
    """
    deadline, attempt_s = wait.after(_FREEZE_S), _ATTEMPT_S
    while not _asked(file, "FROZEN", min(wait.after(attempt_s), deadline)):
        if wait.left_s(deadline) == 0:
            return False
        file.write_text("THAWED", encoding="ascii")
        wait.MONOTONIC.sleep(attempt_s)
        attempt_s *= 2
    return True


def _asked(file: Path, word: str, deadline_s: float) -> bool:
    """Ask for a state of the group until it has it; returns whether it has.

    The kernel looks at each process once per request: one that comes to a stop of ptrace(2) just
    then counts as running until the next.
    """

    def has_it() -> bool:
        file.write_text(word, encoding="ascii")
        return file.read_text(encoding="ascii").strip() == word

    return wait.until(has_it, deadline_s, period_s=0.001)
