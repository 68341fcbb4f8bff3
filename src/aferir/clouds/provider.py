"""The Protocol of clouds that are accessed over a network API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from aferir.clouds.base import PhaseName
from aferir.model.finding import Finding

Stage = Literal["absent", "placing", "copying", "booting", "failed", "gone"]
"""State of an instance. `absent`: the cloud does not know it, not yet or no longer; `gone`: the
cloud says that it has ended."""


class Look(msgspec.Struct, frozen=True):
    """A cloud's report about one instance at one time."""

    stage: Stage
    address: str = ""
    said: str = ""
    """The cloud's explanation of a failure."""


class Consistency(msgspec.Struct, frozen=True):
    """Consistency of a cloud's answers: how far they may lag behind."""

    appears_s: float
    """Seconds for which an instance may be missing in answers after it was requested."""
    apart_s: float
    """Interval in seconds after which a second answer cannot come from the same stale copy."""


class Provider(Protocol):
    """One cloud. Calls block, may come from several threads at once, and raise AferirError.

    `refused.CloudError` tells whether to retry, and whether the request may have been carried out.
    """

    sources: dict[PhaseName, str]
    """Events that mark each phase's begin and end; phases that cannot be observed are missing."""
    resolution_s: float
    """Shortest interval between two polls, in seconds."""
    consistency: Consistency
    repeatable: bool
    """Whether a second request of the same name creates no second instance."""

    def check(self) -> list[Finding]:
        """Whether the cloud can be reached, and with what credentials; changes nothing."""
        ...

    def place(self) -> str:
        """Where the cloud's instances are: address, region, project; to be shown and compared.

        It contains no secrets. Errors: UsageError if there are no credentials.
        """
        ...

    def request(self, name: str) -> str:
        """Request an instance called `name`; returns its ID."""
        ...

    def looks(self, identities: Sequence[str]) -> Mapping[str, Look]:
        """State of each instance, in as few requests as the cloud allows."""
        ...

    def remove(self, identity: str) -> bool:
        """Request the removal of an instance; False if the cloud does not know the ID."""
        ...

    def find(self, name: str) -> list[str]:
        """IDs of the instances called `name` that have not ended, from all pages."""
        ...

    def named(self, prefix: str) -> dict[str, str]:
        """Names by ID of the instances that have not ended, if the name begins with the prefix."""
        ...
