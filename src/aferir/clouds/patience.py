"""Timing of requests to a cloud: deadlines, growing intervals, back-off and Retry-After."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from aferir.clouds.provider import Look
from aferir.clouds.refused import CloudError
from aferir.errors import AferirError, ProgramError
from aferir.linux import wait

_LONGEST_S = 2.0
_SHARE = 0.025
"""Next poll interval as a share of the time waited so far: durations are known to 2.5 %, and an
instance that takes a minute costs about 200 polls.
"""
_LONGEST_BACK_OFF_S = 30.0
REFUSALS_S = 10.0
"""Seconds for which a refusal is retried: a cloud may not know yet what it has just created."""

_Value = TypeVar("_Value")


def period_s(waited_s: float, shortest_s: float) -> float:
    """Seconds until the next poll for an instance, after waiting for `waited_s`."""
    return max(shortest_s, min(_SHARE * waited_s, _LONGEST_S))


def back_off_s(failures: int, error: CloudError | None = None) -> float:
    """Seconds to wait after consecutive failures: doubled by each, less a random part up to half.

    The random part separates clients that were refused together. Never less than Retry-After.
    """
    longest = min(0.25 * 2.0 ** min(failures, 10), _LONGEST_BACK_OFF_S)
    asked_s = error.after_s if error is not None else 0.0
    return max(asked_s, longest * random.uniform(0.5, 1.0))  # noqa: S311 - no secret


class Failures:
    """Counts consecutive failures of a repeated request; raises the error after the deadline."""

    def __init__(self, deadline_s: float, clock: wait.Clock = wait.MONOTONIC) -> None:
        self._deadline_s = deadline_s
        self._clock = clock
        self._count = 0
        self._refused_since_s: float | None = None

    def none(self) -> None:
        """Record that the request has succeeded."""
        self._count = 0
        self._refused_since_s = None

    def one(self, error: AferirError) -> float:
        """Record a failure; returns the seconds to wait. Errors: `error` itself if time is up."""
        now = self._clock.now_s()
        if not isinstance(error, ProgramError):
            raise error
        passing = isinstance(error, CloudError) and error.passing
        if self._refused_since_s is None and not passing:
            self._refused_since_s = now
        self._count += 1
        pause_s = back_off_s(self._count, error if isinstance(error, CloudError) else None)
        refused_s = 0.0 if self._refused_since_s is None else now - self._refused_since_s
        if now + pause_s > self._deadline_s or (not passing and refused_s >= REFUSALS_S):
            raise error
        return pause_s


def patiently(
    act: Callable[[], _Value], deadline_s: float, clock: wait.Clock = wait.MONOTONIC
) -> _Value:
    """Repeat `act` until it succeeds. Errors: the last one at the deadline, a refusal at once."""
    failures = Failures(deadline_s, clock)
    while True:
        try:
            return act()
        except CloudError as error:
            if not error.passing:
                raise
            clock.sleep(failures.one(error))


class Poller:
    """Polls a cloud for all waiting threads together, once per period.

    The first thread whose time has come polls for all; the others wait and share its result. After
    an error, no thread polls before Retry-After and the back-off have passed.
    """

    def __init__(
        self,
        looks: Callable[[Sequence[str]], Mapping[str, Look]],
        shortest_s: float,
        clock: wait.Clock = wait.MONOTONIC,
    ) -> None:
        self._looks = looks
        self._shortest_s = shortest_s
        self._clock = clock
        self._lock = threading.Lock()
        self._awaited: dict[str, float] = {}
        self._round = 0
        self._answers: Mapping[str, Look] | AferirError = {}
        self._asked_s = self._due_s = clock.now_s()
        self._failures = 0

    def begin(self, identity: str) -> None:
        """Include an instance in the polls from now on."""
        with self._lock:
            self._awaited[identity] = self._clock.now_s()
            if not self._failures:
                self._due_s = min(self._due_s, self._asked_s + self._shortest_s)

    def end(self, identity: str) -> None:
        """Exclude an instance from the polls."""
        with self._lock:
            self._awaited.pop(identity, None)

    def next(self, identity: str) -> Look:
        """The instance's state from the next poll. Errors: AferirError of the poll."""
        seen = self._round
        while True:
            with self._lock:
                answers = self._answers
                if self._round != seen:
                    if isinstance(answers, AferirError):
                        raise answers
                    if identity in answers:
                        return answers[identity]
                    seen = self._round
                left_s = self._due_s - self._clock.now_s()
                if left_s <= 0:
                    self._ask()
                    continue
            self._clock.sleep(left_s)

    def _ask(self) -> None:
        identities = list(self._awaited)
        try:
            self._answers = {**dict.fromkeys(identities, Look("absent")), **self._looks(identities)}
            self._failures = 0
        except AferirError as error:
            self._answers = error
            self._failures += 1
        self._round += 1
        now = self._asked_s = self._clock.now_s()
        waited_s = now - max(self._awaited.values(), default=now)
        self._due_s = now + period_s(waited_s, self._shortest_s)
        if isinstance(self._answers, CloudError):
            self._due_s = now + back_off_s(self._failures, self._answers)
