"""Network UPS Tools: a UPS through upsd (its network protocol: RFC 9271)."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping

from aferir.power.asked import Meter, what_there
from aferir.power.base import Description, Fetch, PowerError, Reading
from aferir.power.lines import ask

PORT = 3493
POWER_FACTOR = 0.8
"""Assumed where the device does not say: NUT's own assumption (docs/nut-names.txt)."""
_WAITING = ("WAIT", "OFF")
_UPS = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Nut:
    """One UPS of one upsd. What it feeds beyond the server is in its power, too."""

    def __init__(self, ups: str, host: str, port: int = PORT, fetch: Fetch | None = None) -> None:
        if not _UPS.fullmatch(ups):
            raise PowerError(f"`{ups}` is no name of a UPS", remedy="`upsc -l` lists them")
        self._name = f"nut:{ups}@{host}:{port}"
        self._fetch = fetch or (lambda: _fetch(ups, host, port))

    def describe(self) -> Description:
        """Resolution: of the figure that it gives power by."""
        variables = parse_list(self._fetch())
        watts, step, assumption = _power(variables)
        del watts
        nominal = _nominal(variables)
        return Description(
            name=self._name,
            scope="all that the UPS feeds",
            resolution_w=step,
            period_s=_number(variables, "driver.parameter.pollinterval") or 2.0,
            most_w=nominal if nominal is not None else math.inf,
            assumption=assumption,
        )

    def read(self) -> Reading:
        """Real power, or load times what the device is made for. Errors: PowerError."""
        variables = parse_list(self._fetch())
        status = variables.get("ups.status", "").split()
        waiting = [word for word in status if word in _WAITING]
        return Reading(
            power_w=_power(variables)[0],
            apparent_va=_number(variables, "ups.power"),
            stale=f"its status is {' '.join(status)}" if waiting else "",
        )


def parse_list(text: str) -> dict[str, str]:
    """Variables of `LIST VAR`. Errors: PowerError where upsd says ERR, or the list is cut."""
    variables = {}
    lines = text.splitlines()
    error = next((line for line in lines if line.startswith("ERR ")), "")
    if error:
        raise PowerError(
            f"upsd says {error[4:60]}",
            remedy={
                "DATA-STALE": "its driver has lost the UPS",
                "UNKNOWN-UPS": "see `upsc -l`",
            }.get(error[4:].strip(), ""),
        )
    if not any(line.startswith("END LIST VAR") for line in lines):
        raise PowerError("upsd's list of variables has no end")
    for line in lines:
        try:
            words = shlex.split(line)
        except ValueError:
            continue
        if len(words) == 4 and words[0] == "VAR":
            variables[words[2]] = words[3]
    return variables


def _power(variables: Mapping[str, str]) -> tuple[float | None, float, str]:
    """Watts, the step between two readings, and what was assumed."""
    real = _number(variables, "ups.realpower")
    if real is not None:
        return real, _step(variables["ups.realpower"]), ""
    load, nominal = _number(variables, "ups.load"), _nominal(variables)
    if load is None or nominal is None:
        return None, 0.0, ""
    real_nominal = _number(variables, "ups.realpower.nominal")
    assumption = "" if real_nominal else f"power factor {_factor(variables):g}"
    if not real_nominal and "output.powerfactor" in variables:
        assumption = ""
    return load / 100 * nominal, _step(variables["ups.load"]) / 100 * nominal, assumption


def _nominal(variables: Mapping[str, str]) -> float | None:
    real = _number(variables, "ups.realpower.nominal")
    if real is not None and real > 0:
        return real
    apparent = _number(variables, "ups.power.nominal")
    return None if apparent is None else apparent * _factor(variables)


def _factor(variables: Mapping[str, str]) -> float:
    factor = _number(variables, "output.powerfactor")
    return factor if factor is not None and 0 < factor <= 1 else POWER_FACTOR


def _step(text: str) -> float:
    """One in the last place that is printed."""
    _, dot, decimals = text.strip().partition(".")
    return 10.0 ** -len(decimals) if dot else 1.0


def _number(variables: Mapping[str, str], name: str) -> float | None:
    try:
        value = float(variables[name])
    except (KeyError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _fetch(ups: str, host: str, port: int) -> str:
    question = f"LIST VAR {ups}\n".encode()

    def complete(received: bytes) -> bool:
        return (b"\nEND LIST VAR" in received or received.startswith(b"ERR")) and received.endswith(
            b"\n"
        )

    answer = ask(host, port, question, complete, what="upsd")
    return answer.decode("utf-8", errors="replace")


METER = Meter(
    name="nut",
    form="nut:UPS[@HOST[:PORT]]",
    pattern=":.+",
    parse=what_there,
    make=lambda place, _password: Nut(place.what, place.host or "127.0.0.1", place.port or PORT),
)
