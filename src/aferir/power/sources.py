"""Sources by the names that a user gives them."""

from __future__ import annotations

from pathlib import Path

from aferir.errors import UsageError
from aferir.model.power import FORMS, PowerSource
from aferir.power import apcupsd, nut, snmp
from aferir.power.apcupsd import Apcupsd
from aferir.power.base import Source
from aferir.power.hwmon import Hwmon
from aferir.power.ipmi import Ipmi
from aferir.power.model import Modelled, load
from aferir.power.nut import Nut
from aferir.power.rapl import Rapl
from aferir.power.snmp import Snmp


def source(text: str, *, community: str = "public") -> Source:
    """The source called so, in one of FORMS. Errors: as of `made_of`, and UsageError."""
    try:
        return made_of(PowerSource.parse(text), community=community)
    except ValueError as error:
        raise UsageError(f"`{text}` {error}", remedy=f"one of: {', '.join(FORMS)}") from None


def made_of(wanted: PowerSource, *, community: str = "public") -> Source:
    """What is asked for the power.

    `community` is SNMP's password: from the environment, never from a name that is printed.
    Errors: PowerError where the model's file is none.
    """
    host = wanted.host or "127.0.0.1"
    made: Source
    match wanted.kind:
        case "rapl":
            made = Rapl()
        case "ipmi":
            made = Ipmi()
        case "hwmon":
            made = Hwmon(wanted.what)
        case "apcupsd":
            made = Apcupsd(host, wanted.port or apcupsd.PORT)
        case "nut":
            made = Nut(wanted.what, host, wanted.port or nut.PORT)
        case "snmp":
            where = f"{host}:{wanted.port or snmp.PORT}"
            made = Snmp(where, wanted.what, scale=wanted.scale, community=community)
        case "model":
            made = Modelled(load(Path(wanted.what)))
    return made
