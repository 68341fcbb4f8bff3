"""Power, energy and cost of several hosts together."""

from __future__ import annotations

import pytest

from aferir.environments.measured import Measured
from aferir.hosts import totals
from aferir.hosts.messages import Metered
from aferir.linux.process import Completed
from aferir.model.host import HostSpec, Price
from aferir.model.record import TIME, Sample, Series, Warning
from aferir.model.stamps import Stamp

DONE = Completed(("x",), 0, "", "", duration_s=10.0, started_unix_ns=1_000_000_000_000)
POWER = (
    Sample("power_w", 50.0, "W", "host"),
    Sample("energy_j", 510.0, "J", "host"),
    Sample("cost_eur", 1.0, "EUR", "host"),
    Sample("cpu_busy_percent", 3.0, "%", "host"),
)


def host(name: str, price: Price | None = None) -> HostSpec:
    return HostSpec(name=name, reach=("x",), price_per_hour=price)


def read(*power_w: float) -> Metered:
    """One reading a second, the first of them two seconds before the program starts."""
    curve = Series(
        metric="power_w",
        unit="W",
        values=power_w,
        along=TIME,
        along_unit="s",
        at=tuple(float(k) for k in range(len(power_w))),
        began=Stamp(DONE.started_unix_ns - 2_000_000_000, 1000),
    )
    mean = sum(power_w) / len(power_w)
    return Metered(samples=(Sample("power_w", mean, "W", "host"),), series=(curve,))


def values(measured: Measured) -> dict[str, float]:
    return {one.metric: one.value for one in measured.observed}


def test_power_and_energy_are_of_all_hosts_and_of_each() -> None:
    """Readings before the program and after it are of a host that waits."""
    others = {"b": read(*[1.0] * 2, *[30.0] * 11, *[1.0] * 40)}
    found = totals.of_all(Measured(DONE, POWER), (host("a"), host("b")), others)
    assert values(found) == pytest.approx(
        {
            "cpu_busy_percent": 3.0,
            "power_w": 80.0,
            "power_w_of_a": 50.0,
            "power_w_of_b": 30.0,
            "energy_j": 80.0 * 10.2,
            "energy_j_of_a": 510.0,
            "energy_j_of_b": 306.0,
        }
    )
    assert [one.label for one in found.series] == ["b"]
    assert found.warnings == ()


def test_hosts_without_a_meter_or_a_price_are_named() -> None:
    euro, dollar = Price(36.0, "EUR"), Price(72.0, "USD")
    hosts = (host("a", euro), host("b", euro), host("c", dollar), host("d"))
    doubt = Warning("no-power", "power: none")
    found = totals.of_all(Measured(DONE, POWER), hosts, {"b": Metered(warnings=(doubt,))})
    assert values(found)["cost_eur"] == pytest.approx(0.2)
    assert values(found)["cost_usd"] == pytest.approx(0.2)
    assert values(found)["power_w"] == 50.0
    assert [(one.code, one.message) for one in found.warnings] == [
        ("no-power", "b: power: none"),
        ("power-of-some-hosts", "power and energy are without those of b, c, d"),
        ("cost-of-some-hosts", "the cost is without that of d"),
    ]


def test_without_meters_and_prices_there_is_nothing_to_tell() -> None:
    measured = Measured(DONE, POWER[3:])
    assert totals.of_all(measured, (host("a"), host("b")), {}) == measured
    assert totals.of_all(Measured(), (host("a"), host("b")), {"b": read(1.0)}) == Measured()
