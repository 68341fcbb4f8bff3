"""What differs between clouds that are asked over their network interfaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from aferir.clouds.base import PhaseName
from aferir.model.finding import Finding

Stage = Literal["absent", "placing", "copying", "booting", "failed", "gone"]
"""`absent`: the cloud knows no such instance, be it not yet or no more; `gone`: it says that this
one has ended."""


class Look(msgspec.Struct, frozen=True):
    """What a cloud says of one instance at one moment."""

    stage: Stage
    address: str = ""
    said: str = ""
    """Why it failed, in the cloud's own words."""


class Consistency(msgspec.Struct, frozen=True):
    """How late a cloud's answers may be."""

    appears_s: float
    """So long after a request an instance of it may be missing in answers."""
    apart_s: float
    """Two answers that far apart do not both come from a copy that lags behind."""


class Provider(Protocol):
    """One cloud. Calls block, may come from several threads at once, and raise AferirError.

    `refused.CloudError` says whether to try again, and whether it may have been done all the same.
    """

    sources: dict[PhaseName, str]
    """What shows each phase; those that cannot be seen are missing here."""
    resolution_s: float
    """The shortest time between two looks at it."""
    consistency: Consistency
    repeatable: bool
    """Whether a second request of the same name makes no second instance."""

    def check(self) -> list[Finding]:
        """Whether it can be reached, and with what credentials; changes nothing."""
        ...

    def place(self) -> str:
        """Where its instances are, for people and to be compared: address, region, project.

        Without secrets. Errors: UsageError where there are no credentials.
        """
        ...

    def request(self, name: str) -> str:
        """Ask for an instance of that name; its id."""
        ...

    def looks(self, identities: Sequence[str]) -> Mapping[str, Look]:
        """How far each of them is, in as few requests as the cloud allows."""
        ...

    def remove(self, identity: str) -> bool:
        """Ask for its end; False where the cloud knows none of that id."""
        ...

    def find(self, name: str) -> list[str]:
        """Ids of the instances of that name that have not ended, of all pages."""
        ...

    def named(self, prefix: str) -> dict[str, str]:
        """Id to name of the instances that have not ended and whose name begins so."""
        ...
