"""Power: parsing of readings, refusal of impossible ones, and the model instead."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.elastic.verbs.energy import with_energy
from aferir.errors import MissingError
from aferir.power.apcupsd import Apcupsd, parse_status, unframe
from aferir.power.base import Counter, Description, PowerError, Reading, power_between, worth
from aferir.power.check import refusal
from aferir.power.hwmon import Hwmon
from aferir.power.ipmi import Ipmi
from aferir.power.meter import Meter
from aferir.power.nut import Nut, parse_list
from aferir.power.rapl import Rapl
from aferir.power.snmp import Snmp, command
from aferir.power.ups import Nominal
from aferir.programs.figures import Figures

UPS = Description(name="ups", scope="server", most_w=865.0)
DCMI = """
    Instantaneous power reading:                   220 Watts
    Minimum during sampling period:                 18 Watts
    Sampling period:                          00000001 Seconds.
    Power reading state is:                   activated
"""


def listed(**variables: str) -> str:
    rows = [f'VAR it {name.replace("_", ".")} "{value}"' for name, value in variables.items()]
    return "\n".join(["BEGIN LIST VAR it", *rows, "END LIST VAR it", ""])


@pytest.mark.parametrize(
    ("power_w", "reading", "why"),
    [
        (None, Reading(), "no number"),
        (math.nan, Reading(), "no number"),
        (-1.0, Reading(), "negative"),
        (0.0, Reading(), "while the machine runs"),
        (900.0, Reading(), "more than the 865 W"),
        (300.0, Reading(apparent_va=200.0), "more than its 200 VA"),
        (300.0, Reading(stale="lost"), "stale: lost"),
        (300.0, Reading(apparent_va=300.0), ""),
    ],
)
def test_what_cannot_be_true_is_refused(power_w: float | None, reading: Reading, why: str) -> None:
    found = refusal(power_w, reading, UPS)
    assert why in found
    assert bool(found) == bool(why)


def test_all_bits_set_stand_for_unknown() -> None:
    assert refusal(65535.0, Reading(), Description(name="x", scope="y"))


@given(st.floats(), st.floats(0, 1e6) | st.none())
def test_what_is_believed_is_a_power_that_the_device_can_give(
    power_w: float, apparent_va: float | None
) -> None:
    if not refusal(power_w, Reading(apparent_va=apparent_va), UPS):
        assert 0 < power_w <= 865


def test_a_counter_gives_power_over_the_time_and_across_its_end() -> None:
    def at(seconds: float, joules: float) -> Counter:
        return Counter(seconds, Reading(energy_j=joules, wraps_j=1000.0))

    assert power_between(at(0, 100), at(2, 300)) == 100
    assert power_between(at(0, 900), at(2, 100)) == 100
    assert power_between(at(0, 900), at(2, 100), 50.0) is None
    assert power_between(at(0, 400), at(2, 100)) is None  # long before its end: it was reset
    assert power_between(at(1, 1), at(1, 2)) is None
    assert power_between(at(0, 1), Counter(1, Reading())) is None


def test_nut_prefers_real_power_and_says_what_it_assumes() -> None:
    real = Nut("it", "h", fetch=lambda: listed(ups_realpower="123.4", ups_load="90"))
    assert real.read().power_w == 123.4
    assert real.describe().resolution_w == pytest.approx(0.1)
    assumed = Nut("it", "h", fetch=lambda: listed(ups_load="50", ups_power_nominal="1000"))
    assert assumed.read().power_w == pytest.approx(400)
    assert assumed.describe().assumption == "power factor 0.8"
    assert assumed.describe().most_w == pytest.approx(1200)  # overload
    assert assumed.describe().resolution_w == pytest.approx(8)
    told = listed(ups_load="50", ups_power_nominal="1000", output_powerfactor="0.9")
    assert Nut("it", "h", fetch=lambda: told).read().power_w == pytest.approx(450)
    with pytest.raises(PowerError, match="not what power that is a share of") as lacking:
        Nut("it", "h", fetch=lambda: listed(ups_load="50")).read()
    assert "nut:it?nominal=WATTS" in lacking.value.remedy
    given = Nut("it", "h", fetch=lambda: listed(ups_load="50"), nominal=Nominal(900.0, True))
    assert given.read().power_w == pytest.approx(360)
    assert given.describe().assumption == "made for 900 VA, as was said; power factor 0.8"
    with pytest.raises(PowerError, match="no name"):
        Nut("it\nLOGOUT", "h")


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from(listed(a="1", b='"').splitlines())).map("\n".join)
)
def test_any_answer_of_upsd_is_a_list_or_an_error(text: str) -> None:
    try:
        parse_list(text)
    except PowerError:
        return


def framed(text: str) -> bytes:
    records = [line.encode() + b"\n" for line in text.splitlines()]
    return b"".join(len(one).to_bytes(2, "big") + one for one in records) + b"\0\0"


def test_records_of_apcupsd_are_put_together_whatever_the_pieces() -> None:
    whole = framed("STATUS   : ONLINE\nLOADPCT  : 33.5 Percent\nNOMPOWER : 865 Watts")
    assert all(unframe(whole[:k]) is None for k in range(len(whole)))
    text = unframe(whole)
    assert text is not None
    ups = Apcupsd("h", fetch=lambda: text)
    assert ups.read().power_w == pytest.approx(289.775)
    assert ups.describe().resolution_w == pytest.approx(0.865)


@given(st.binary(max_size=200))
def test_any_bytes_are_records_or_wait_for_more(received: bytes) -> None:
    text = unframe(received)
    if text is not None:
        try:
            parse_status(text)
        except PowerError:
            return


def test_a_ups_that_lost_its_line_is_stale() -> None:
    lost = Apcupsd(
        "h", fetch=lambda: "STATUS : COMMLOST \nLOADPCT : 33.0 Percent\nNOMPOWER : 865 W"
    )
    assert "COMMLOST" in lost.read().stale
    with pytest.raises(PowerError, match="neither its power nor its load"):
        Apcupsd("h", fetch=lambda: "STATUS : ONLINE").read()


def test_the_management_controller_tells_whole_watts() -> None:
    assert Ipmi(lambda: DCMI).read() == Reading(power_w=220.0)
    # OpenBMC's controllers call every reading so, and 220 W are 220 W.
    deactivated = DCMI.replace("activated", "deactivated")
    assert Ipmi(lambda: deactivated).read() == Reading(power_w=220.0)
    assert "not activated" in Ipmi(lambda: deactivated).describe().assumption
    assert Ipmi(lambda: DCMI).describe().assumption == ""
    assert Ipmi(lambda: deactivated.replace("220", "  0")).read().stale
    assert Ipmi(lambda: DCMI.replace("220", "65535")).read().stale
    assert Ipmi(lambda: DCMI).describe().resolution_w == 1
    with pytest.raises(PowerError, match="no power reading"):
        Ipmi(lambda: "Invalid command").read()


def test_an_outlet_that_does_not_know_says_minus_one() -> None:
    assert Snmp("h", "1.3.6", scale=0.1, fetch=lambda: "2855\n").read().power_w == 285.5
    assert Snmp("h", "1.3.6", fetch=lambda: "-1").read().stale
    with pytest.raises(PowerError, match="no number"):
        Snmp("h", "1.3.6", fetch=lambda: "No Such Object").read()
    with pytest.raises(PowerError, match="identifier"):
        Snmp("h", "1.3.6; rm")


def zone(folder: Path, name: str, label: str, energy_uj: int, most_uj: int = 10**12) -> None:
    made = folder / name
    made.mkdir(parents=True)
    for file, value in (
        ("name", label),
        ("energy_uj", energy_uj),
        ("max_energy_range_uj", most_uj),
    ):
        (made / file).write_text(f"{value}\n", encoding="ascii")
    (made / "constraint_0_max_power_uw").write_text("65000000\n", encoding="ascii")


def test_packages_are_added_and_their_parts_are_not(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    zone(tmp_path, "intel-rapl:1", "package-1", 7_000_000)
    zone(tmp_path, "intel-rapl:0:0", "core", 4_000_000)
    zone(tmp_path, "intel-rapl:2", "psys", 90_000_000)
    found = Rapl(tmp_path)
    assert found.read().energy_j == pytest.approx(12)
    assert found.describe().most_w == pytest.approx(260)
    for number in (0, 1):
        limit = tmp_path / f"intel-rapl:{number}/constraint_1_power_limit_uw"
        limit.write_text("120000000\n", encoding="ascii")
    assert found.describe().most_w == pytest.approx(480)  # turbo goes beyond the nominal power
    limit.write_text("4294967295\n", encoding="ascii")
    assert found.describe().most_w == pytest.approx(370)
    for path in tmp_path.glob("*/constraint_*"):
        path.unlink()
    assert found.describe().most_w == pytest.approx(4000)
    with pytest.raises(MissingError, match="RAPL"):
        Rapl(tmp_path / "none").read()


def test_a_power_sensor_is_found_by_its_chip(tmp_path: Path) -> None:
    for number, (chip, micro) in enumerate([("nct6775", None), ("acpi_power", 123_400_000)]):
        made = tmp_path / f"hwmon{number}"
        made.mkdir()
        (made / "name").write_text(f"{chip}\n", encoding="ascii")
        if micro is not None:
            (made / "power1_average").write_text(f"{micro}\n", encoding="ascii")
            (made / "power1_average_interval").write_text("500\n", encoding="ascii")
    assert Hwmon(chips=tmp_path).read().power_w == pytest.approx(123.4)
    assert Hwmon("acpi_power", tmp_path).describe().period_s == 0.5
    with pytest.raises(MissingError, match="nct6775"):
        Hwmon("nct6775", tmp_path).read()


@pytest.mark.parametrize(
    ("micro", "is_known"),
    [
        (123_456_000, True),
        (65_535_000, True),  # 65.535 W of a chip that gives milliwatts
        (4_294_967_295_000, False),
        (2_147_483_647, False),
        (65_535_000_000, False),
        (-32_768_000_000, False),
    ],
)
def test_unknown_is_known_before_it_is_scaled(tmp_path: Path, micro: int, is_known: bool) -> None:
    made = tmp_path / "hwmon0"
    made.mkdir()
    (made / "name").write_text("meter\n", encoding="ascii")
    (made / "power1_input").write_text(f"{micro}\n", encoding="ascii")
    chip = Hwmon(chips=tmp_path)
    reading = chip.read()
    assert (refusal(reading.power_w, reading, chip.describe()) == "") == is_known


@pytest.mark.parametrize(
    ("said", "error"),
    [("95.0%", 0.05), ("98.5 %", 0.015), ("2%", 0.02), ("100%", 0.0), ("", 0.0), ("good", 0.0)],
)
def test_the_accuracy_of_a_chip_is_that_of_its_figures(
    tmp_path: Path, said: str, error: float
) -> None:
    made = tmp_path / "hwmon0"
    made.mkdir()
    for name, value in (("name", "meter"), ("power1_input", "1000000"), ("power1_accuracy", said)):
        (made / name).write_text(f"{value}\n", encoding="ascii")
    assert Hwmon(chips=tmp_path).describe().accuracy == pytest.approx(error)


def test_what_was_assumed_goes_with_what_a_piece_of_work_took() -> None:
    ups = Nut("it", "h", fetch=lambda: listed(ups_load="50", ups_power_nominal="1000"))
    with Meter(ups) as meter, meter.counting():
        pass
    assert meter.taken is not None
    assert meter.taken.description is not None
    said = worth(meter.taken.description)
    assert said == "steps of 8 W; assumed: power factor 0.8"
    taken = msgspec.structs.replace(meter.taken, seconds=9.0, at_s=(0.0,), power_w=(400.0,))
    figures = with_energy(Figures(program="x", samples=()), taken)
    assert [doubt.message for doubt in figures.doubts] == [f"power of the hosts: {said}"]


def test_a_watt_that_no_server_has_is_refused() -> None:
    anything = Description(name="x", scope="server", least_w=1.0)
    assert "no" not in refusal(100.0, Reading(), anything)
    assert "less than any server" in refusal(0.3, Reading(), anything)
    assert "more than" in refusal(5e6, Reading(), anything)
    assert refusal(100.0, Reading(doubt="not so"), anything) == "not so"
    assert refusal(None, Reading(energy_j=1.0), anything) == "its counter began again"


@pytest.mark.parametrize(
    ("text", "watts"),
    [
        ("324", 324.0),
        ('"324"', 324.0),
        ("Gauge32: 324", 324.0),
        ("INTEGER: 324 Watts", 324.0),
        (".1.3.6.1.4.1 = Gauge32: 324", 324.0),
        ('STRING: "0.324 kW"', 324.0),
        ("3240 tenths of Watts", 324.0),
        ("Opaque: Float: 324.0", 324.0),
    ],
)
def test_an_outlet_is_read_whatever_mibs_there_are(text: str, watts: float) -> None:
    assert Snmp("h", "1.3.6", fetch=lambda: text).read().power_w == pytest.approx(watts)


@pytest.mark.parametrize(
    "text", ["324 Volts", "kW: 3.2", "No Such Instance", "", "Timeticks: (1) 0:00:00.01"]
)
def test_an_outlet_that_says_no_watts_is_refused(text: str) -> None:
    with pytest.raises(PowerError):
        Snmp("h", "1.3.6", fetch=lambda: text).read()


def test_no_mib_of_this_machine_has_a_say_in_an_answer() -> None:
    words = command("udp6:[::1]:1161", "1.3.6", "public")
    assert words[words.index("-m") + 1] == ""
    assert {"-Oqv", "-On", "-OU"} <= set(words)


@given(st.text(max_size=100))
def test_any_answer_of_an_outlet_is_a_number_or_an_error(text: str) -> None:
    with contextlib.suppress(PowerError):
        Snmp("h", "1.3.6", fetch=lambda: text).read()
    with contextlib.suppress(PowerError):
        Ipmi(lambda: text).read()
