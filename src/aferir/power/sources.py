"""Sources by the names that a user writes: `rapl`, `nut:ups@10.0.0.3`, `model:FILE`."""

from __future__ import annotations

import msgspec

from aferir.errors import UsageError
from aferir.power import apcupsd, battery, hwmon, ipmi, model, nut, rapl, snmp
from aferir.power.asked import Meter, Place, printed
from aferir.power.base import Source

METERS: dict[str, Meter] = {
    one.name: one
    for one in (
        rapl.METER,
        hwmon.METER,
        ipmi.METER,
        nut.METER,
        apcupsd.METER,
        snmp.METER,
        battery.METER,
        model.METER,
    )
}
FORMS = tuple(meter.form for meter in METERS.values())
PATTERN = f"^({'|'.join(meter.name + meter.pattern for meter in METERS.values())})$"
"""Regular expression of all notations; it may accept too much."""


class PowerSource(msgspec.Struct, frozen=True, kw_only=True):
    """A power source as the user named it."""

    kind: str
    """Name of the kind of source, one of `METERS`."""
    place: Place = Place()

    @classmethod
    def parse(cls, written: str) -> PowerSource:
        """Parse a source in one of FORMS. Errors: ValueError that says what is wrong."""
        kind, _, rest = written.partition(":")
        kind, query, given = kind.partition("?")
        rest += query + given
        if kind not in METERS:
            raise ValueError(f"is no source of power; there are {', '.join(FORMS)}")
        return cls(kind=kind, place=METERS[kind].parse(rest))

    def __str__(self) -> str:
        """Text of this source as a user writes it, such as `snmp:OID*0.1@HOST`."""
        place = self.place
        what = place.what if place.scale == 1.0 else f"{place.what}*{place.scale:g}"
        made = place.nominal
        given = f"?nominal={made.value:g}{'VA' if made.is_apparent else ''}" if made else ""
        where = printed(place.host, place.port)
        joined = f"{what}@{where}" if what and where else what or where
        return f"{self.kind}:{joined}{given}" if joined or given else self.kind


def source(text: str, *, community: str = "public") -> Source:
    """The source called `text`, in one of FORMS. Errors: as `made_of`, and UsageError."""
    try:
        return made_of(PowerSource.parse(text), community=community)
    except ValueError as error:
        raise UsageError(f"`{text}` {error}", remedy=f"one of: {', '.join(FORMS)}") from None


def made_of(wanted: PowerSource, *, community: str = "public") -> Source:
    """Create a power source.

    `community` is SNMP's password: it comes from the environment, not from a name that is printed.
    Errors: PowerError if the file of a model is invalid.
    """
    return METERS[wanted.kind].make(wanted.place, community)
