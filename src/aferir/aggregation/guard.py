"""Applying an aggregate so that nobody is locked out: unless confirmed in time, it is undone.

A guard, a process of its own that outlives the terminal, writes into the journal how to undo all,
and only then is anything changed. It waits for a file that `confirm` makes. Where that does not
come, because the connection that the change was made through is gone, it undoes everything. Is the
guard itself killed, `aferir clean` finds its entry and does the same.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from aferir.aggregation.applying import Interface, Route, State, Steps, Wish, settings_of, steps
from aferir.aggregation.subnets import Command
from aferir.errors import AferirError, ProgramError, UsageError
from aferir.linux import journal, process, wait
from aferir.linux.journal import Entry
from aferir.model.network import Mptcp

KIND = "aggregate"
_TIME_LIMIT_S = 20.0
_STARTING_S = 20.0
_POLL_S = 0.1
_LIMITS = re.compile(r"add_addr_accepted (\d+) subflows (\d+)")


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered of an aggregate, below the state folder."""

    name: str
    namespace: str
    undo: tuple[Command, ...]
    boot_id: str
    """The boot of the host in which it was applied: nothing of it outlives a reboot."""
    confirmed: bool = False


def read_state(wish: Wish, namespace: str) -> State:
    """Interfaces, routes and kernel parameters of a host or namespace as they are."""
    inside = ["ip", "-n", namespace] if namespace else ["ip"]

    def asked(*words: str) -> str:
        return process.run([*inside, *words], timeout_s=_TIME_LIMIT_S).stdout

    limits = _LIMITS.search(asked("mptcp", "limits", "show")) if _is_mptcp(wish) else None
    return State(
        interfaces=msgspec.json.decode(
            asked("-j", "address", "show") or "[]", type=tuple[Interface, ...]
        ),
        routes=msgspec.json.decode(asked("-j", "route", "show") or "[]", type=tuple[Route, ...]),
        settings={name: _setting(name, namespace) for name in settings_of(wish)},
        mptcp_limits=(int(limits[2]), int(limits[1])) if limits else (2, 0),
    )


def plan_steps(wish: Wish, namespace: str) -> Steps:
    """What would be done and undone; changes nothing. Errors: as of `applying.steps`."""
    return steps(wish, read_state(wish, namespace), namespace)


def apply(wish: Wish, namespace: str, *, confirm_within_s: float) -> Applied:
    """Aggregate, under guard. A step that fails undoes those before it at once.

    Errors: UsageError where it cannot be, ProgramError where a step failed.
    """
    if remembered(wish.name) is not None:
        raise UsageError(
            f"`{wish.name}` is applied already", remedy=f"aferir aggregate undo {wish.name}"
        )
    planned = plan_steps(wish, namespace)
    applied = Applied(
        name=wish.name, namespace=namespace, undo=planned.undo, boot_id=journal.boot_id()
    )
    _remember(applied)
    try:
        _start_guard(wish.name, confirm_within_s)
        for command in planned.do:
            process.run(command, timeout_s=_TIME_LIMIT_S)
    except BaseException:
        undo(wish.name)
        raise
    return applied


def confirm(name: str) -> None:
    """It works: the guard may go. Errors: UsageError where there is nothing to confirm."""
    applied = remembered(name)
    if applied is None:
        raise UsageError(
            f"there is no `{name}` to confirm; it may have been undone",
            remedy="apply it again, with a longer --confirm-within",
        )
    _remember(msgspec.structs.replace(applied, confirmed=True))


def undo(name: str) -> list[str]:
    """Take it back, confirmed or not; what could not be undone, in ip's words.

    Errors: UsageError where nothing of that name is applied.
    """
    applied = remembered(name)
    if applied is None:
        raise UsageError(f"there is no `{name}` that was applied", remedy="see `ip link`")
    problems = run_undo(applied.undo)
    _path(name).unlink(missing_ok=True)
    return problems


def remembered(name: str) -> Applied | None:
    """What is applied under that name, since the host was started."""
    try:
        applied = msgspec.json.decode(_path(name).read_bytes(), type=Applied)
    except (OSError, msgspec.DecodeError):
        return None
    return applied if applied.boot_id == journal.boot_id() else None


def guard(name: str, seconds: float) -> list[str]:
    """Body of the guard: write the journal's entry, wait, undo unless confirmed.

    What could not be undone, in ip's words.
    """
    applied = remembered(name)
    if applied is None:
        return []
    entry = journal.write(KIND, {"name": name, "undo": msgspec.json.encode(applied.undo).decode()})
    if wait.until(lambda: _is_settled(name), wait.after(seconds), period_s=_POLL_S):
        journal.erase(entry)
        return []
    problems = run_undo(applied.undo)
    _path(name).unlink(missing_ok=True)
    journal.erase(entry)
    return problems


def _is_settled(name: str) -> bool:
    """Whether it was confirmed, or undone by somebody else."""
    applied = remembered(name)
    return applied is None or applied.confirmed


def give_back(entry: Entry) -> None:
    """Undo what was applied under a guard that was killed. Errors: OSError where something stays.

    What was confirmed stays, and what was applied before a reboot is gone with it.
    """
    name = entry.details["name"]
    applied = remembered(name)
    if entry.boot_id == journal.boot_id() and (applied is None or not applied.confirmed):
        undone = msgspec.json.decode(entry.details["undo"], type=tuple[Command, ...])
        if problems := run_undo(undone):
            raise OSError("; ".join(problems))
        _path(name).unlink(missing_ok=True)
    journal.erase(entry)


def run_undo(commands: Sequence[Command]) -> list[str]:
    """Run all of them, whichever fail: of what was never made there is nothing to undo."""
    problems = []
    for command in commands:
        try:
            done = process.run(command, timeout_s=_TIME_LIMIT_S, check=False)
        except AferirError as error:
            problems.append(error.message)
            continue
        if done.exit_code != 0 and not _was_absent(done.stderr):
            problems.append(f"`{' '.join(command)}` {process.explain_exit(done)}")
    return problems


def _was_absent(said: str) -> bool:
    words = ("Cannot find device", "No such process", "No such file", "address not found")
    return any(word in said for word in words)


def _is_mptcp(wish: Wish) -> bool:
    return isinstance(wish.method, Mptcp)


def _setting(name: str, namespace: str) -> str:
    inside = ["ip", "netns", "exec", namespace] if namespace else []
    path = f"/proc/sys/{name.replace('.', '/')}"
    return process.run([*inside, "cat", path], timeout_s=_TIME_LIMIT_S).stdout.strip()


def _start_guard(name: str, seconds: float) -> None:
    """Start it, in a session of its own, and wait until its entry is in the journal."""
    command = [sys.executable, "-m", "aferir", "aggregate", "guard", name, "--seconds"]
    detached = 'setsid "$@" > /dev/null 2>&1 < /dev/null &'
    process.run(["sh", "-c", detached, "sh", *command, str(seconds)], timeout_s=_TIME_LIMIT_S)
    if not wait.until(lambda: _is_guarded(name), wait.after(_STARTING_S), period_s=0.02):
        raise ProgramError(
            "the guard that would undo it does not start; nothing was changed",
            remedy=f"run it by hand to see why: {' '.join(command)} 10",
        )


def _is_guarded(name: str) -> bool:
    return any(one.kind == KIND and one.details["name"] == name for one in journal.entries())


def _remember(applied: Applied) -> None:
    journal.write_durably(_path(applied.name), msgspec.json.encode(applied))


def _path(name: str) -> Path:
    return journal.state_folder() / "aggregates" / f"{name}.json"
