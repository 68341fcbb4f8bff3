"""The power of a UPS from the figures it reports, and contradictions between them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.power.ups import Nominal, told


def ups(**variables: str) -> dict[str, str]:
    return {name.replace("_", "."): value for name, value in variables.items()}


@pytest.mark.parametrize(
    ("variables", "watts"),
    [
        (ups(ups_realpower="198", ups_load="20", ups_realpower_nominal="900"), 198),
        (ups(output_realpower="410.00", ups_load="41.00", ups_power_nominal="1500.00"), 410),
        (ups(output_L1_realpower="100", output_L2_realpower="200", output_L3_realpower="50"), 350),
        (ups(outlet_1_realpower="30", outlet_2_realpower="40", outlet_0_realpower="70"), 70),
        (ups(ups_load="20", ups_realpower_nominal="900", ups_power_nominal="1000"), 180),
        (ups(ups_load="20", ups_power_nominal="1000", output_powerfactor="0.9"), 180),
        (ups(ups_load="20", ups_power_nominal="1000", output_powerfactor="0.00"), 160),
        (ups(ups_load="20", output_power_nominal="1000"), 160),
        (
            ups(
                output_L1_power_percent="10",
                output_L2_power_percent="20",
                output_L3_power_percent="30",
                ups_realpower_nominal="9000",
            ),
            1800,
        ),
        (ups(ups_load="20", ups_power="200"), 160),
        # The load says 132 W, which 96 VA cannot be.
        (ups(ups_load="12", ups_realpower_nominal="1100", ups_power="96"), 76.8),
        (ups(output_current="1.5", output_voltage="230"), 276),
        (ups(input_realpower="420"), 420),
        (ups(ups_realpower="0", ups_load="20", ups_realpower_nominal="900"), 180),
        # A device that gives its volt-amperes in thousands.
        (ups(output_realpower="1700.00", output_power="1.80", ups_load="60"), 1700),
        (ups(output_power="1.5", ups_load="30", ups_power_nominal="5000"), 1200),
        (ups(outlet_realpower="150"), 150),
        # The volt-amperes confirm the watts: it is the nominal power that is wrong.
        (ups(ups_realpower="96", ups_power="162", ups_load="16", ups_power_nominal="100000"), 96),
    ],
)
def test_power_is_found_under_whichever_names(variables: dict[str, str], watts: float) -> None:
    found = told(variables)
    assert found.power_w == pytest.approx(watts)
    assert (found.doubt, found.missing) == ("", "")


@pytest.mark.parametrize(
    ("variables", "doubt"),
    [
        (ups(ups_realpower="3000", output_current="0.2", output_voltage="223"), "0.2 A at 223 V"),
        (ups(output_realpower="16.8", ups_power="168.0", ups_load="4"), "168 VA"),
        (ups(ups_realpower="1.2", ups_load="30", ups_power_nominal="5000"), "about 1,200 W"),
        (ups(ups_power="835", ups_load="562020"), "its load is 562020 %"),
        (
            ups(
                ups_load="17",
                ups_power_nominal="100000",
                output_current="0.7",
                output_voltage="230",
            ),
            "0.7 A at 230 V",
        ),
    ],
)
def test_figures_that_contradict_one_another_are_doubted(
    variables: dict[str, str], doubt: str
) -> None:
    assert doubt in told(variables).doubt


@pytest.mark.parametrize(
    ("variables", "missing"),
    [
        (ups(), "neither its power nor its load"),
        (ups(ups_load="-1"), "neither"),
        (ups(ups_load="20"), "not what power"),
        (ups(ups_load="20", ups_power_nominal="5"), "5 VA, which no UPS has"),
        (ups(ups_load="20", ups_realpower_nominal="88"), "88 W, which no UPS has"),
        (ups(output_L1_realpower="100", output_phases="3"), "neither"),
    ],
)
def test_what_is_missing_is_said(variables: dict[str, str], missing: str) -> None:
    found = told(variables)
    assert found.power_w is None
    assert missing in found.missing


def test_what_a_user_gives_comes_before_what_the_device_says() -> None:
    variables = ups(ups_load="20", ups_power_nominal="5")
    assert told(variables, Nominal(900)).power_w == pytest.approx(180)
    assert told(variables, Nominal(900)).assumption == "made for 900 W, as was said"
    assert told(variables, Nominal(900, is_apparent=True)).power_w == pytest.approx(144)


def test_what_was_assumed_and_the_step_stay_with_the_figure() -> None:
    found = told(ups(ups_load="33.00", ups_power_nominal="1000", output_powerfactor="0"))
    assert found.assumption == "power factor 0.8"
    assert found.step_w == pytest.approx(8)  # its zeros are mere form: it counts whole percents
    assert told(ups(ups_load="33.4", ups_realpower_nominal="500")).step_w == pytest.approx(0.5)
    real = told(ups(output_realpower="324.00"))
    assert (real.assumption, real.step_w) == ("", 1.0)
    assert "made up" in told(ups(ups_realpower="9", driver_name="dummy-ups")).assumption


NAMES = st.sampled_from(
    [
        *("ups.realpower", "output.realpower", "ups.load", "ups.power", "output.power"),
        *("ups.power.nominal", "ups.realpower.nominal", "output.current", "output.voltage"),
        *("output.powerfactor", "output.phases", "output.L1.realpower", "outlet.1.realpower"),
    ]
)
VALUES = st.text(max_size=8) | st.floats().map(str) | st.integers(-9, 10**6).map(str)


@given(st.dictionaries(NAMES, VALUES))
def test_no_variables_make_it_fall_over(variables: dict[str, str]) -> None:
    found = told(variables)
    assert (found.power_w is None) == bool(found.missing)
