"""Reads a profile: which runs count, and how much each criterion matters to the user."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar, get_args

import msgspec

from aferir.config.fields import Fields, Name, is_table
from aferir.config.load import read_bytes
from aferir.config.problems import Problems
from aferir.errors import UsageError
from aferir.model.parameters import duration, number, several, text, whole

GUIDE = "docs/guides/evaluate.md"

Criterion = Literal["performance", "energy", "elasticity", "time-precision", "isolation", "price"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)

_Weight = Annotated[float, number("importance relative to the other weights", 0.0, 1e6)]
_Path = Annotated[str, text("folder of a run, from the profile's folder", "../runs/tenants")]


class General(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of `[profile]`."""

    title: Annotated[str, text("title of the page", "Nightly solver runs")] = ""
    runs: Annotated[tuple[_Path, ...], several("runs whose figures count")]
    environments: Annotated[
        tuple[Name, ...], several("environments to choose from", unset="all of the runs")
    ] = ()
    baseline: Annotated[
        str, text("environment of cost 1", "native", unset="that of the first run")
    ] = ""
    seed: Annotated[int, whole("seed of the random numbers", 0, 2**31)] = 1


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of `[weights]`; a weight of 0 leaves a criterion out."""

    performance: _Weight = 0.0
    energy: _Weight = 0.0
    elasticity: _Weight = 0.0
    time_precision: _Weight = msgspec.field(name="time-precision", default=0.0)
    isolation: _Weight = 0.0
    price: _Weight = 0.0

    def of(self, criterion: Criterion) -> float:
        """Weight of one criterion, from 0."""
        return float(getattr(self, criterion.replace("-", "_")))


class Energy(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of `[energy]`."""

    idle: (
        Annotated[
            float,
            number(
                "idle power over peak power, one of `idle` of the runs' `[server]`",
                *(0.0, 0.999),
                unset="the first of each run",
            ),
        ]
        | None
    ) = None


class Elasticity(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of `[elasticity]`."""

    use: Annotated[
        float,
        duration("time for which an instance is used, between allocation and release", 1e-3, 1e9),
    ] = 600.0


class TimePrecision(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of `[time-precision]`."""

    metric: Annotated[
        str, text("metric in seconds of a program of clocks", "read_of_monotonic_s")
    ] = "read_of_monotonic_s"
    tolerated: Annotated[
        float, duration("error that costs as much as a run that takes twice as long", 1e-9, 1e6)
    ] = 1e-6


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a user's profile."""

    general: General
    weights: Weights
    energy: Energy = Energy()
    elasticity: Elasticity = Elasticity()
    time_precision: TimePrecision = TimePrecision()
    price: dict[str, float] = {}
    """Price of an hour by environment, in any one currency."""


_T = TypeVar("_T", bound=msgspec.Struct)
_TABLES = ("profile", "weights", "energy", "elasticity", "time-precision", "price")


def load(path: Path) -> Profile:
    """Read a profile. Errors: UsageError that names everything that is wrong."""
    try:
        document = tomllib.loads(read_bytes(path, "a profile", GUIDE).decode("utf-8"))
    except (UnicodeDecodeError, RecursionError, ValueError) as reason:
        raise UsageError(f"{path} is not TOML: {reason}", remedy=f"see {GUIDE}") from None
    return parse(document, source=str(path))


def parse(document: Mapping[str, object], *, source: str = "the profile") -> Profile:
    """Profile from a parsed document. Errors: UsageError as in `load`."""
    problems = Problems()
    Fields(document, "", problems).only(_TABLES)
    general = _table(document, "profile", General, problems)
    weights = _table(document, "weights", Weights, problems)
    found = Profile(
        general=general or General(runs=()),
        weights=weights or Weights(),
        energy=_table(document, "energy", Energy, problems) or Energy(),
        elasticity=_table(document, "elasticity", Elasticity, problems) or Elasticity(),
        time_precision=_table(document, "time-precision", TimePrecision, problems)
        or TimePrecision(),
        price=_prices(document, problems),
    )
    if weights is not None and not any(map(weights.of, CRITERIA)):
        problems.add("weights", "are all 0", "write `performance = 1`, or another criterion")
    if problems.found:
        raise problems.error(source, reference=GUIDE)
    return found


def _table(
    document: Mapping[str, object], name: str, struct: type[_T], problems: Problems
) -> _T | None:
    table = document.get(name, {})
    if not is_table(table):
        problems.add(name, "is no table", f"write `[{name}]` above its keys")
        return None
    before = len(problems.found)
    values = Fields(table, name, problems).read(struct)
    return None if len(problems.found) > before else struct(**values)


def _prices(document: Mapping[str, object], problems: Problems) -> dict[str, float]:
    table = document.get("price", {})
    if not is_table(table):
        problems.add("price", "is no table", "write `[price]` above the environments")
        return {}
    found = {}
    for name, value in table.items():
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e12:
            found[name] = float(value)
        else:
            problems.add(f"price.{name}", "is no price", "write a number above 0")
    return found
