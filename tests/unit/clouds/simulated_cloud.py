"""A cloud on simulated time whose answers are late; it has no protocol but is a `Provider`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aferir.clouds.base import PhaseName
from aferir.clouds.provider import Consistency, Look
from aferir.clouds.refused import CloudError
from aferir.linux.wait import Clock
from aferir.model.finding import Finding

INFINITE = float("inf")


class LateCloud:
    """Shows what it has made `late_s` after it was made; `made` lists when, by id."""

    resolution_s = 0.1
    sources: dict[PhaseName, str]
    repeatable = False

    def __init__(self, clock: Clock, consistency: Consistency, late_s: float) -> None:
        self.sources = {}
        self.clock = clock
        self.consistency = consistency
        self.late_s = late_s
        self.made: dict[str, float] = {}
        self.ended: set[str] = set()
        self.errors: list[CloudError] = []
        """Given instead of the next answers."""
        self.tells_ends = False
        self.asked = 0

    def make(self, identity: str) -> None:
        self.made[identity] = self.clock.now_s()

    def check(self) -> list[Finding]:
        return []

    def place(self) -> str:
        return "here"

    def request(self, name: str) -> str:
        self.make(name)
        return name

    def looks(self, identities: Sequence[str]) -> Mapping[str, Look]:
        self._fail()
        ended = {one: Look("gone") for one in self.ended if self.tells_ends and one in identities}
        return ended | {one: Look("booting") for one in self._shown() if one in identities}

    def remove(self, identity: str) -> bool:
        self._fail()
        if identity not in self._shown():
            return False
        self.ended.add(identity)
        return True

    def find(self, name: str) -> list[str]:
        self._fail()
        return [one for one in self._shown() if one == name]

    def named(self, prefix: str) -> dict[str, str]:
        return {one: one for one in self._shown() if one.startswith(prefix)}

    def lives(self) -> set[str]:
        return self.made.keys() - self.ended

    def _shown(self) -> list[str]:
        now = self.clock.now_s()
        return [one for one in sorted(self.lives()) if now >= self.made[one] + self.late_s]

    def _fail(self) -> None:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
