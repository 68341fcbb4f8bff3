"""Time to interactive: from the request for an instance to the first output of its first command.

The ledger is the same for every kind of environment. Its parts lie between successive times, so
that they add up; each time is that of an event: a message on a pipe, the change of a file, the end
of a process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from aferir.environments.base import Environment, Instance
from aferir.errors import AferirError
from aferir.model.plan import EnvironmentSpec

Shape = Literal["sequential", "staggered", "burst"]
"""When requests are made: `sequential`: one after another; `staggered`: at a fixed interval,
whether or not earlier ones are done; `burst`: all at once.
"""
COMMAND = ("/bin/echo", "here")
PARTS = ("copied_s", "booted_s", "ready_s", "answered_s")


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """Durations in s of the steps of one request for an instance."""

    copied_s: float
    """Time from the request until the files and control groups of the instance exist."""
    booted_s: float
    """Time from the end of `copied_s` until the instance's first program runs."""
    ready_s: float
    """Time from the end of `booted_s` until a first command has been run in the instance."""
    answered_s: float
    """Time from the end of `ready_s` until the first output of the next command has arrived."""
    total_s: float
    """Time from the request until that output, measured separately from the parts above."""
    released_s: float
    """Duration of the release of the instance, which follows."""

    def unexplained(self) -> float:
        """Share of the total that the parts do not cover."""
        return 1 - sum(self.parts()) / self.total_s

    def parts(self) -> tuple[float, ...]:
        """Durations in s of the parts of an allocation, in the order of `PARTS`."""
        return self.copied_s, self.booted_s, self.ready_s, self.answered_s


class Outcome(msgspec.Struct, frozen=True):
    """Ledgers of all requests of one shape, and failures."""

    ledgers: tuple[Ledger, ...]
    failures: tuple[str, ...]
    """Error message of each failed request."""


def once(
    environment: Environment, spec: EnvironmentSpec, hold: Callable[[], object] = lambda: None
) -> Ledger:
    """Make and release one instance; `hold` is called before the release.

    Errors: those of the environment.
    """
    asked = time.perf_counter()
    instance = environment.allocate(spec)
    try:
        allocated = time.perf_counter()
        instance.run(COMMAND)
        answered = time.perf_counter()
        hold()
    finally:
        released_s = instance.release()
    return _ledger(instance, answered - allocated, answered - asked, released_s)


def sequential(
    environment: Environment,
    spec: EnvironmentSpec,
    requests: int,
    before: Callable[[], object] = lambda: None,
) -> Outcome:
    """Make requests one after another: each starts after the release of the instance before it.

    `before` is called ahead of each.
    """
    found: list[Ledger | str] = []
    for _ in range(requests):
        before()
        found.append(_tried(environment, spec))
    return _outcome(found)


def together(
    environment: Environment, spec: EnvironmentSpec, requests: int, apart_s: float = 0.0
) -> Outcome:
    """Make requests at intervals of `apart_s`, whether or not earlier ones are done; 0: at once.

    No instance is released before the last request has been answered or has failed, so that all
    earlier instances exist while a later one is made.
    """
    found: list[Ledger | str] = [""] * requests
    done = threading.Barrier(requests)
    begun = time.monotonic()

    def request(number: int) -> None:
        time.sleep(max(0.0, begun + number * apart_s - time.monotonic()))
        met: list[int] = []
        found[number] = _tried(environment, spec, lambda: met.append(done.wait()))
        if not met:
            done.wait()

    # A child is killed when the thread that started it ends, so each outlives its instance.
    threads = [threading.Thread(target=request, args=(number,)) for number in range(requests)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _outcome(found)


def _tried(
    environment: Environment, spec: EnvironmentSpec, hold: Callable[[], object] = lambda: None
) -> Ledger | str:
    try:
        return once(environment, spec, hold)
    except AferirError as error:
        return f"{error.message}; {error.remedy}" if error.remedy else error.message
    except OSError as error:
        return str(error)


def _outcome(found: Sequence[Ledger | str]) -> Outcome:
    return Outcome(
        tuple(one for one in found if isinstance(one, Ledger)),
        tuple(one for one in found if isinstance(one, str)),
    )


def _ledger(instance: Instance, answered_s: float, total_s: float, released_s: float) -> Ledger:
    phases = instance.phases
    parts = (phases.copied_s or 0.0, phases.booted_s or 0.0, phases.ready_s or 0.0)
    # For a kind without separate phases, all of its time counts as the first one.
    rest = phases.total_s - sum(parts) if not any(parts) else 0.0
    return Ledger(
        copied_s=parts[0] + rest,
        booted_s=parts[1],
        ready_s=parts[2],
        answered_s=answered_s,
        total_s=total_s,
        released_s=released_s,
    )
