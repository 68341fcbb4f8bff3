"""The notation of power sources."""

from __future__ import annotations

import re

import pytest

from aferir.power.asked import Place
from aferir.power.sources import FORMS, METERS, PATTERN, PowerSource
from aferir.power.ups import Nominal


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("rapl", Place()),
        ("hwmon", Place()),
        ("hwmon:power_meter", Place(what="power_meter")),
        ("nut:ups", Place(what="ups")),
        ("nut:ups@10.0.0.3:3493", Place(what="ups", host="10.0.0.3", port=3493)),
        ("apcupsd", Place()),
        ("apcupsd:10.0.0.3", Place(host="10.0.0.3")),
        ("snmp:1.3.6*0.1@[fe80::1]:162", Place(what="1.3.6", host="fe80::1", port=162, scale=0.1)),
        ("snmp:1.3.6@[::1]:1161", Place(what="1.3.6", host="::1", port=1161)),
        ("nut:ups@[::1]", Place(what="ups", host="::1")),
        ("nut:ups@::1", Place(what="ups", host="::1")),
        ("nut:ups@fe80::1%eth0", Place(what="ups", host="fe80::1%eth0")),
        ("nut:ups?nominal=900", Place(what="ups", nominal=Nominal(900))),
        (
            "nut:ups@h:3493?nominal=900W",
            Place(what="ups", host="h", port=3493, nominal=Nominal(900)),
        ),
        ("nut:ups?nominal=1.5kVA@h", Place(what="ups", host="h", nominal=Nominal(1500, True))),
        ("apcupsd:[::1]:3551?nominal=865", Place(host="::1", port=3551, nominal=Nominal(865))),
        ("apcupsd?nominal=865", Place(nominal=Nominal(865))),
        ("model:power.json", Place(what="power.json")),
    ],
)
def test_a_source_is_written_and_read_alike(written: str, place: Place) -> None:
    asked = PowerSource.parse(written)
    assert asked == PowerSource(kind=re.split("[:?]", written)[0], place=place)
    assert PowerSource.parse(str(asked)) == asked
    assert re.fullmatch(PATTERN, written)


@pytest.mark.parametrize(
    "written",
    [
        "",
        "nonsense:1",
        "rapl:0",
        "nut",
        "nut:",
        "nut:@h",
        "snmp:1.3.6",
        "model",
        "apcupsd:h:0",
        "nut:u@1:2:3",
        "nut:u@[::1]x",
        "nut:u?nominal=5",
    ],
)
def test_what_is_no_source_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"^(is|has|does) "):
        PowerSource.parse(written)


def test_every_meter_says_how_it_is_written() -> None:
    assert all(form.startswith(name) for name, form in zip(METERS, FORMS, strict=True))
