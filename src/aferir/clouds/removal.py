"""Removal of an instance: requested, observed, and confirmed before its entry is erased.

An instance that a cloud does not show may not be shown yet, be on another page, or be missing in a
stale copy. Its end therefore counts only when the cloud has reported it twice, and an instance that
may never have been created is waited for as long as the cloud may be late to show it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping

import msgspec

from aferir.clouds import patience
from aferir.clouds.provider import Look, Provider
from aferir.clouds.refused import CloudError
from aferir.errors import AferirError, ProgramError
from aferir.linux import wait

_LIMIT_S = 120.0
_DOUBT_LIMIT_S = 20.0
"""Seconds to wait for an instance that may never have been created; its journal entry remains."""
_ASK_AGAIN_S = 10.0


class Made(msgspec.Struct, frozen=True):
    """Known facts about an instance that may have been created."""

    name: str
    identity: str = ""
    """ID from the cloud's response; "" if there was none."""
    age_s: float = math.inf
    """Seconds since the instance was requested."""
    refused: bool = False
    """Whether the cloud has refused to create it."""


def remove(cloud: Provider, made: Made, clock: wait.Clock = wait.MONOTONIC) -> float:
    """Remove every instance of the name; returns seconds until the cloud showed none.

    Errors: AferirError if one remains, or it is not yet certain whether one will appear.
    """
    return _Removal(cloud, made, clock).go()


class _Removal:
    def __init__(self, cloud: Provider, made: Made, clock: wait.Clock) -> None:
        self._cloud = cloud
        self._made = made
        self._clock = clock
        self._began_s = clock.now_s()
        self._known = {made.identity} if made.identity else set()
        self._told_gone: set[str] = set()
        self._asked_s: dict[str, float] = {}
        self._accepted: set[str] = set()
        self._gone_since_s: float | None = None

    def go(self) -> float:
        failures = patience.Failures(self._began_s + _LIMIT_S, self._clock)
        while True:
            pause_s = patience.period_s(
                self._clock.now_s() - self._began_s, self._cloud.resolution_s
            )
            try:
                if self._step():
                    assert self._gone_since_s is not None
                    return self._gone_since_s - self._began_s
                failures.none()
            except AferirError as error:
                self._gone_since_s = None
                pause_s = failures.one(error)
            self._give_up_in_time()
            with contextlib.suppress(InterruptedError):
                self._clock.sleep(pause_s)

    def _step(self) -> bool:
        """Poll, and request the removal of what exists. True if its end is confirmed."""
        left = set(self._cloud.find(self._made.name))
        self._known |= left
        looks = self._looks()
        for identity, look in looks.items():
            if look.stage == "gone":
                self._told_gone.add(identity)
                left.discard(identity)
            elif look.stage != "absent":
                left.add(identity)
        refusals = [self._end(identity) for identity in sorted(self._known - self._told_gone)]
        now = self._clock.now_s()
        for refusal in refusals:
            if left and refusal is not None:
                raise refusal
        if left:
            self._gone_since_s = None
            return False
        if self._gone_since_s is None:
            self._gone_since_s = now
            return False
        explicit = bool(self._known) and self._known <= self._told_gone
        apart_s = 0.0 if explicit else self._cloud.consistency.apart_s
        return not self._in_doubt() and now - self._gone_since_s >= apart_s

    def _looks(self) -> Mapping[str, Look]:
        """States of the known instances; {} on errors once a removal was accepted."""
        try:
            return self._cloud.looks(sorted(self._known)) if self._known else {}
        except CloudError:
            if not self._accepted:
                raise
            return {}

    def _end(self, identity: str) -> CloudError | None:
        """Request a removal, again after 10 s without effect; returns the cloud's refusal, if any.

        Clouds refuse it for an instance that is being removed already.
        """
        now = self._clock.now_s()
        if identity in self._accepted and now - self._asked_s[identity] < _ASK_AGAIN_S:
            return None
        self._asked_s[identity] = now
        try:
            if self._cloud.remove(identity):
                self._accepted.add(identity)
        except CloudError as error:
            return error
        return None

    def _in_doubt(self) -> bool:
        """Whether an instance may still appear from a request without a response."""
        if self._accepted or self._told_gone or self._made.refused:
            return False
        age_s = self._made.age_s + self._clock.now_s() - self._began_s
        return age_s < self._cloud.consistency.appears_s

    def _give_up_in_time(self) -> None:
        waited_s = self._clock.now_s() - self._began_s
        name = self._made.name
        if self._gone_since_s is not None and self._in_doubt() and waited_s >= _DOUBT_LIMIT_S:
            appears_s = self._cloud.consistency.appears_s
            raise ProgramError(
                f"whether the cloud makes the instance {name} is not certain before "
                f"{appears_s:g} s have passed since the request; the journal remembers it",
                remedy="run `aferir clean` some minutes later",
            )
        if waited_s > _LIMIT_S:
            raise ProgramError(
                f"the instance {name} is still there after {_LIMIT_S:g} s",
                remedy="remove it by the cloud's own means, then run `aferir clean`",
            )
