"""How long and how often a cloud is asked: by time, at growing distances, and as it asks for."""

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
"""Of the time waited so far, to the next look: so much of what is measured is not resolved, and
an instance that takes a minute costs some 200 looks."""
_LONGEST_BACK_OFF_S = 30.0
REFUSALS_S = 10.0
"""So long a refusal is taken for one of a cloud that does not know yet what it has made."""

_Value = TypeVar("_Value")


def period_s(waited_s: float, shortest_s: float) -> float:
    """Until the next look at an instance that one has waited for so long."""
    return max(shortest_s, min(_SHARE * waited_s, _LONGEST_S))


def back_off_s(failures: int, error: CloudError | None = None) -> float:
    """After so many failures in a row: twice as long each time, by chance up to a half less.

    Chance keeps those apart who were refused together. Never less than what the cloud asks for.
    """
    longest = min(0.25 * 2.0 ** min(failures, 10), _LONGEST_BACK_OFF_S)
    asked_s = error.after_s if error is not None else 0.0
    return max(asked_s, longest * random.uniform(0.5, 1.0))  # noqa: S311 - no secret


class Failures:
    """Those in a row of one thing that is tried again and again; raises when patience ends."""

    def __init__(self, deadline_s: float, clock: wait.Clock = wait.MONOTONIC) -> None:
        self._deadline_s = deadline_s
        self._clock = clock
        self._count = 0
        self._refused_since_s: float | None = None

    def none(self) -> None:
        """It has worked."""
        self._count = 0
        self._refused_since_s = None

    def one(self, error: AferirError) -> float:
        """How long to wait after that error. Errors: itself where no patience is left."""
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
    """Act until it works. Errors: the last one once patience ends, a refusal at once."""
    failures = Failures(deadline_s, clock)
    while True:
        try:
            return act()
        except CloudError as error:
            if not error.passing:
                raise
            clock.sleep(failures.one(error))


class Poller:
    """Whoever waits for an instance asks here: the cloud is asked once a period for all of them.

    The first one for whom it is time asks for all; the others wait meanwhile and take what it was
    told. After an error nobody asks before the cloud's own wish and the back-off are over.
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
        """From now on it is asked for."""
        with self._lock:
            self._awaited[identity] = self._clock.now_s()
            if not self._failures:
                self._due_s = min(self._due_s, self._asked_s + self._shortest_s)

    def end(self, identity: str) -> None:
        """Nobody waits for it any more."""
        with self._lock:
            self._awaited.pop(identity, None)

    def next(self, identity: str) -> Look:
        """What the cloud says of it next. Errors: AferirError, that of asking."""
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
