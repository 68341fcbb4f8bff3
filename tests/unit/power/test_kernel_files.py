"""Power sources that the kernel shows as files: any content is a reading or an error."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from aferir.errors import AferirError
from aferir.power.base import PowerError
from aferir.power.battery import Battery
from aferir.power.check import refusal
from aferir.power.hwmon import Hwmon
from aferir.power.ipmi import Ipmi
from aferir.power.model import Modelled, load
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


@given(
    st.text(max_size=200)
    | st.tuples(st.sampled_from(["Instantaneous", "Power"]), st.text(max_size=20)).map(
        "{0[0]} power reading: {0[1]} Watts\n Sampling period: {0[1]} Seconds.".format
    )
)
def test_any_words_of_ipmitool_are_a_reading_or_an_error(said: str) -> None:
    controller = Ipmi(fetch=lambda: said)
    with contextlib.suppress(AferirError):
        device, reading = controller.describe(), controller.read()
        refusal(reading.power_w, reading, device)


@given(
    st.binary(max_size=60)
    | st.fixed_dictionaries(
        {"peak_w": st.floats(), "idle_w": st.floats(), "bend": st.none() | st.floats()}
    ).map(msgspec.json.encode)
)
@example(b'{"peak_w":0,"idle_w":0}')
@example(b'{"peak_w":9,"idle_w":1,"bend":0}')
@example(b"[" * 5000)
def test_any_file_is_a_model_that_tells_watts_or_an_error(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        path, stat = Path(name, "model.json"), Path(name, "stat")
        path.write_bytes(content)
        stat.write_text("cpu 1 0 0 1 0 0 0 0 0 0\n", encoding="ascii")
        with contextlib.suppress(PowerError):
            source = Modelled(load(path), stat)
            assert source.describe().most_w >= load(path).at(1.0) >= load(path).at(0.0) >= 0
