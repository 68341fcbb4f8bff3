"""Power drawn from a battery, from files like the kernel's."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.errors import MissingError
from aferir.power.base import PowerError
from aferir.power.battery import Battery


def supply(folder: Path, name: str, **files: str) -> Path:
    made = folder / name
    made.mkdir()
    for file, content in files.items():
        (made / file).write_text(f"{content}\n", encoding="utf-8")
    return folder


def test_a_mains_adapter_is_no_battery(tmp_path: Path) -> None:
    supply(tmp_path, "AC", type="Mains", online="1")
    with pytest.raises(MissingError, match="no battery"):
        Battery(supplies=tmp_path).read()
    supply(tmp_path, "BAT0", type="Battery", power_now="12340000", status="Discharging")
    reading = Battery(supplies=tmp_path).read()
    assert reading.power_w == pytest.approx(12.34)
    assert not reading.stale
    assert Battery(supplies=tmp_path).describe().name == "battery:BAT0"
    with pytest.raises(MissingError, match="BAT1"):
        Battery("BAT1", tmp_path).read()


def test_current_times_voltage_is_power(tmp_path: Path) -> None:
    """Some firmware counts what is drained below 0."""
    supply(
        tmp_path,
        "BAT1",
        type="Battery",
        current_now="-1500000",
        voltage_now="12000000",
        status="Discharging",
    )
    assert Battery("BAT1", tmp_path).read().power_w == pytest.approx(18.0)


def test_while_it_is_charged_it_tells_nothing_of_the_machine(tmp_path: Path) -> None:
    supply(tmp_path, "BAT0", type="Battery", power_now="30000000", status="Charging")
    assert Battery(supplies=tmp_path).read().stale == "its status is Charging"


def test_one_that_tells_nothing_is_an_error(tmp_path: Path) -> None:
    supply(tmp_path, "BAT0", type="Battery", status="Discharging")
    with pytest.raises(PowerError, match="neither"):
        Battery(supplies=tmp_path).read()
