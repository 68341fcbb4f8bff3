"""Output power of a UPS, from whichever figures it reports: real power, volt-amperes, or load.

Contradictory figures (3,000 W at 0.2 A) are not believed, nor is a nominal power that no UPS has.
Assumptions are reported with the result. Names of variables: NUT, docs/nut-names.txt.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import msgspec

from aferir.power.quantity import step

POWER_FACTOR = 0.8
"""Power factor that is assumed if the device reports none, as NUT does (docs/nut-names.txt)."""
NOMINAL = (100.0, 2e6)
"""Range of plausible nominal powers of a UPS, in watts or volt-amperes."""
_OVERLOAD = 1.5
"""Largest multiple of the nominal power that a UPS may deliver for a while."""
_MOST_LOAD = 200.0
_VOLTS = (80.0, 500.0)
_ROUNDING = 1.25
"""Tolerance for figures of one device: rounded separately and taken at different times."""
_LEAST_FACTOR = 0.15
"""Power factor below which watts and volt-amperes cannot belong together."""
_OTHER_UNIT = 100
"""Reported watts are not believed (they may be kW) if the power expected from the load is more than
this many times as high."""
_PHASES = ("L1", "L2", "L3")


class Nominal(msgspec.Struct, frozen=True):
    """Nominal power of a UPS as its user states it."""

    value: float
    is_apparent: bool = False
    """Whether the value is in volt-amperes instead of watts."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """Power with its resolution, assumptions and warnings."""

    power_w: float | None = None
    step_w: float = 0.0
    assumption: str = ""
    most_w: float = math.inf
    apparent_va: float | None = None
    doubt: str = ""
    """Why the power is not believed; "" if it is."""
    missing: str = ""
    """The figure that is missing if there is no power; "" otherwise."""


def told(variables: Mapping[str, str], given: Nominal | None = None) -> Told:
    """Power from a UPS's variables by name; `given`: nominal power as its user states it."""
    nominal, assumed, odd = _nominal(variables, given)
    load, _ = _load(variables)
    expected_w = load / 100 * nominal if load is not None and nominal is not None else None
    apparent = _apparent(variables, expected_w)
    real = [*_real(variables)]
    coarse = [*_of_load(variables, nominal, assumed), *_of_apparent(variables, apparent)]
    candidates = sorted(
        (*real, *coarse, *_of_current(variables), *_at_inlet(variables)), key=lambda one: not one[0]
    )
    most_w = nominal * _OVERLOAD if nominal is not None else math.inf
    if not candidates:
        return Told(missing=_missing(variables, odd), most_w=most_w)
    best = candidates[0]
    if best in coarse:  # whole percents: volt-amperes may be more precise
        best = next(
            (one for one in coarse if not _doubt(variables, one[0], apparent, expected_w)), best
        )
    watts, step_w, assumption = best
    return Told(
        power_w=watts,
        step_w=step_w,
        assumption="; ".join(filter(None, (assumption, _made_up(variables)))),
        most_w=most_w,
        apparent_va=apparent,
        doubt=_doubt(variables, watts, apparent, expected_w),
    )


def number(variables: Mapping[str, str], name: str) -> float | None:
    """A variable as a number; None if there is none."""
    try:
        value = float(variables[name])
    except (KeyError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _real(variables: Mapping[str, str]) -> Iterator[tuple[float, float, str]]:
    for whose in ("ups", "output"):
        watts = number(variables, f"{whose}.realpower")
        if watts is not None:
            yield watts, step(variables[f"{whose}.realpower"]), ""
    for whose in ("output", "ups"):
        yield from _summed(variables, [f"{whose}.{one}.realpower" for one in _PHASES])
    outlets = sorted(name for name in variables if _is_outlet(name))
    yield from _summed(variables, outlets)
    if (total := number(variables, "outlet.realpower")) is not None:
        yield total, step(variables["outlet.realpower"]), ""


def _is_outlet(name: str) -> bool:
    words = name.split(".")
    return len(words) == 3 and words[::2] == ["outlet", "realpower"] and words[1] != "0"


def _summed(variables: Mapping[str, str], names: list[str]) -> Iterator[tuple[float, float, str]]:
    """The sum of the available figures, if they cover all phases of the device."""
    found = [(name, watts) for name in names if (watts := number(variables, name)) is not None]
    phases = number(variables, "output.phases")
    if not found or (phases == 3 and "outlet" not in names[0] and len(found) < 3):
        return
    steps = sum(step(variables[name]) for name, _ in found)
    yield math.fsum(watts for _, watts in found), steps, ""


def _of_load(
    variables: Mapping[str, str], nominal: float | None, assumed: str
) -> Iterator[tuple[float, float, str]]:
    load, each = _load(variables)
    if load is not None and nominal is not None:
        yield load / 100 * nominal, each / 100 * nominal, assumed


def _load(variables: Mapping[str, str]) -> tuple[float | None, float]:
    """Load in percent with its resolution; for three phases, the mean."""
    load = number(variables, "ups.load")
    if load is not None:
        return (load if 0 <= load <= _MOST_LOAD else None), step(variables["ups.load"])
    names = [f"output.{one}.power.percent" for one in _PHASES]
    found = [one for name in names if (one := number(variables, name)) is not None]
    if len(found) != len(names) or not all(0 <= one <= _MOST_LOAD for one in found):
        return None, 0.0
    return math.fsum(found) / len(found), 1.0


def _of_apparent(
    variables: Mapping[str, str], apparent: float | None
) -> Iterator[tuple[float, float, str]]:
    if apparent is not None:
        factor, assumed = _factor(variables)
        yield apparent * factor, factor, assumed


def _of_current(variables: Mapping[str, str]) -> Iterator[tuple[float, float, str]]:
    flows = _current(variables)
    if flows is not None:
        amperes, volts = flows
        factor, assumed = _factor(variables)
        yield (
            amperes * volts * factor,
            step(variables["output.current"]) * volts * factor,
            assumed or f"power factor {factor:g}",
        )


def _at_inlet(variables: Mapping[str, str]) -> Iterator[tuple[float, float, str]]:
    assumed = "what goes in, with the losses of the device"
    watts = number(variables, "input.realpower")
    if watts is not None:
        yield watts, step(variables["input.realpower"]), assumed
    for one in _summed(variables, [f"input.{one}.realpower" for one in _PHASES]):
        yield one[0], one[1], assumed


def _nominal(variables: Mapping[str, str], given: Nominal | None) -> tuple[float | None, str, str]:
    """Nominal watts, the assumption behind them, and an implausible value that was ignored."""
    factor, assumed = _factor(variables)
    if given is not None:
        said = f"made for {given.value:g} {'VA' if given.is_apparent else 'W'}, as was said"
        if given.is_apparent:
            return given.value * factor, "; ".join(filter(None, (said, assumed))), ""
        return given.value, said, ""
    odd = ""
    apparent = _known(variables, "ups.power.nominal", "output.power.nominal")
    real = _known(variables, "ups.realpower.nominal", "output.realpower.nominal")
    for value, unit in ((real, "W"), (apparent, "VA")):
        if value is not None and value > 0 and not _plausible(value):
            odd = f"{value:g} {unit}"
    fits = apparent is None or not _plausible(apparent) or (real or 0.0) <= apparent * _ROUNDING
    if real is not None and _plausible(real) and fits:
        return real, "", ""
    if apparent is not None and _plausible(apparent):
        return apparent * factor, assumed, ""
    return None, "", odd


def _known(variables: Mapping[str, str], *names: str) -> float | None:
    found = (number(variables, name) for name in names)
    return next((value for value in found if value is not None), None)


def _plausible(nominal: float) -> bool:
    return NOMINAL[0] <= nominal <= NOMINAL[1]


def _factor(variables: Mapping[str, str]) -> tuple[float, str]:
    """Power factor, and a note if it is assumed."""
    factor = _known(variables, "output.powerfactor", "powerfactor")
    if factor is not None and 0.1 < factor <= 1:
        return factor, ""
    return POWER_FACTOR, f"power factor {POWER_FACTOR:g}"


def _apparent(variables: Mapping[str, str], expected_w: float | None = None) -> float | None:
    """Apparent power in volt-amperes; values that some devices report in kVA are converted.

    `expected_w`: power according to the load, None if it is unknown.
    """
    apparent = _known(variables, "ups.power", "output.power")
    if apparent is None:
        phases = [number(variables, f"output.{one}.power") for one in _PHASES]
        known = [one for one in phases if one is not None]
        apparent = math.fsum(known) if len(known) == len(phases) else None
    if apparent is None or apparent <= 0:
        return None
    for real in (_known(variables, "ups.realpower", "output.realpower"), expected_w):
        if real is not None and real > apparent and apparent * 1000 <= 4 * real <= apparent * 4200:
            return apparent * 1000
    return apparent


def _current(variables: Mapping[str, str]) -> tuple[float, float] | None:
    """Plausible current and voltage of a single-phase device; None if there are none."""
    amperes, volts = number(variables, "output.current"), number(variables, "output.voltage")
    if amperes is None or volts is None or amperes <= 0 or not _VOLTS[0] <= volts <= _VOLTS[1]:
        return None
    return None if number(variables, "output.phases") == 3 else (amperes, volts)


def _doubt(
    variables: Mapping[str, str], watts: float, apparent: float | None, expected_w: float | None
) -> str:
    """Another figure of the device that contradicts this power; "" if none."""
    load = number(variables, "ups.load")
    if load is not None and not 0 <= load <= _MOST_LOAD:
        return f"its load is {load:g} %, so none of its figures is used"
    flows = _current(variables)
    alone = apparent is None and flows is None
    if alone and expected_w is not None and 0 < watts * _OTHER_UNIT < expected_w:
        return f"{watts:g} W is not its load, which is about {round(expected_w, 1):,g} W"
    if apparent is not None and not apparent * _LEAST_FACTOR <= watts <= apparent * _ROUNDING:
        return f"{watts:g} W is not the power of {apparent:g} VA"
    if flows is None:
        return ""
    amperes, volts = flows
    most = (amperes + step(variables["output.current"])) * volts * _ROUNDING
    least = max(0.0, amperes - step(variables["output.current"])) * volts * 0.1
    if not least <= watts <= most:
        return f"{watts:g} W is not the power of {amperes:g} A at {volts:g} V"
    return ""


def _made_up(variables: Mapping[str, str]) -> str:
    return "made up by dummy-ups" if variables.get("driver.name") == "dummy-ups" else ""


def _missing(variables: Mapping[str, str], odd: str) -> str:
    if _load(variables)[0] is None:
        return "neither its power nor its load"
    if odd:
        return f"its load, and a nominal power of {odd}, which no UPS has"
    return "its load, and not what power that is a share of"
