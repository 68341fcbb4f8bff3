"""Applies an aggregate, and undoes it unless it is confirmed in time: a mistake locks nobody out.

A guard, a separate process that outlives the terminal, journals the undo commands before anything
is changed. It waits for a confirmation. If none comes, because the connection through which the
change was made is lost, it undoes everything. If the guard itself is killed, `aferir clean` finds
its entry and does the same.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from aferir.aggregation.applying import Interface, Route, State, Steps, Wish, settings_of, steps
from aferir.aggregation.subnets import Command
from aferir.errors import AferirError, ProgramError, UsageError
from aferir.linux import journal, lock, process, wait
from aferir.linux.journal import Entry
from aferir.model.network import Mptcp

KIND = "aggregate"
_TIME_LIMIT_S = 60.0
_STARTING_S = 60.0
_POLL_S = 0.1
_LIMITS = re.compile(r"add_addr_accepted (\d+) subflows (\d+)")


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """An applied aggregate, as stored in the state folder."""

    name: str
    namespace: str
    undo: tuple[Command, ...]
    boot_id: str
    """ID of the boot during which the aggregate was applied; a reboot undoes all of it."""
    confirmed: bool = False


def read_state(wish: Wish, namespace: str) -> State:
    """Present interfaces, routes and kernel parameters of a host or namespace."""
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
    """Commands to do and to undo; changes nothing. Errors: those of `applying.steps`."""
    return steps(wish, read_state(wish, namespace), namespace)


def apply(wish: Wish, namespace: str, *, confirm_within_s: float) -> Applied:
    """Aggregate links, with a guard. If a step fails, all steps before it are undone at once.

    Errors: UsageError if it is not possible, ProgramError if a step failed.
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
    """Confirm an aggregate, so that its guard ends. Errors: UsageError if there is none."""
    with _alone():
        applied = remembered(name)
        if applied is None:
            raise UsageError(
                f"there is no `{name}` to confirm; it may have been undone",
                remedy="apply it again, with a longer --confirm-within",
            )
        _remember(msgspec.structs.replace(applied, confirmed=True))


def undo(name: str) -> list[str]:
    """Undo an aggregate, confirmed or not; returns failures, in the words of ip(8).

    Errors: UsageError if nothing of that name is applied.
    """
    applied = remembered(name)
    if applied is None:
        raise UsageError(f"there is no `{name}` that was applied", remedy="see `ip link`")
    problems = run_undo(applied.undo)
    _path(name).unlink(missing_ok=True)
    return problems


def remembered(name: str) -> Applied | None:
    """The aggregate `name` that was applied since the host was booted; None if there is none."""
    try:
        applied = msgspec.json.decode(_path(name).read_bytes(), type=Applied)
    except (OSError, msgspec.DecodeError):
        return None
    return applied if applied.boot_id == journal.boot_id() else None


def guard(name: str, seconds: float) -> list[str]:
    """Body of the guard: write the journal entry, wait, and undo unless confirmed.

    Returns what could not be undone, in the words of ip(8).
    """
    applied = remembered(name)
    if applied is None:
        return []
    entry = journal.write(KIND, {"name": name, "undo": msgspec.json.encode(applied.undo).decode()})
    wait.until(lambda: _is_settled(name), wait.after(seconds), period_s=_POLL_S)
    problems = []
    with _alone():
        if not _is_settled(name):
            problems = run_undo(applied.undo)
            _path(name).unlink(missing_ok=True)
    journal.erase(entry)
    return problems


def _is_settled(name: str) -> bool:
    """Whether the aggregate was confirmed, or undone by another process."""
    applied = remembered(name)
    return applied is None or applied.confirmed


def give_back(entry: Entry) -> None:
    """Undo an aggregate whose guard was killed. Errors: OSError if something cannot be undone.

    A confirmed aggregate stays; one applied before a reboot no longer exists.
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
    """Run all commands, and return failures; undoing a step that was never taken is no failure."""
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
    """Start the guard in a session of its own, and wait until its journal entry is written."""
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


@contextmanager
def _alone() -> Iterator[None]:
    """Keep a confirmation and the guard's undoing apart: one of them comes after the other."""
    folder = _path("").parent
    folder.mkdir(parents=True, exist_ok=True)
    with lock.held(folder):
        yield


def _remember(applied: Applied) -> None:
    journal.write_durably(_path(applied.name), msgspec.json.encode(applied))


def _path(name: str) -> Path:
    return journal.state_folder() / "aggregates" / f"{name}.json"
