"""Sources that the kernel shows as files: whatever is in them, a reading or an error."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from aferir.errors import AferirError
from aferir.power.battery import Battery
from aferir.power.check import refusal
from aferir.power.hwmon import Hwmon
from aferir.power.rapl import Rapl


@given(st.text(max_size=20) | st.floats().map(str), st.text(max_size=8))
def test_any_words_in_the_kernels_files_are_a_reading_or_an_error(said: str, more: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in ("hwmon0", "BAT0", "x-rapl:0"):
            (folder / path).mkdir()
        words = {"hwmon0/power1_input": said, "hwmon0/power1_max": more, "BAT0/type": "Battery"}
        words |= {"hwmon0/power1_accuracy": more, "hwmon0/power1_average_interval": said}
        words |= {"BAT0/power_now": said, "BAT0/current_now": more, "BAT0/voltage_now": said}
        words |= {"x-rapl:0/name": "package-0", "x-rapl:0/energy_uj": said}
        words |= {"x-rapl:0/max_energy_range_uj": said, "x-rapl:0/constraint_0_max_power_uw": more}
        for path, text in words.items():
            (folder / path).write_text(text, encoding="utf-8", errors="replace")
        for source in (Hwmon(chips=folder), Battery(supplies=folder), Rapl(folder)):
            with contextlib.suppress(AferirError):
                device, reading = source.describe(), source.read()
                refusal(reading.power_w, reading, device)
