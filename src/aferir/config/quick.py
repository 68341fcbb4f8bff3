"""Writes the experiment that measures one command in several environments. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

import msgspec

from aferir.errors import UsageError

MINIMUM = 3
_PATIENCE = 4
"""Multiple of the budget after which a run ends even if repetitions are missing."""
_ROUNDS = re.compile(r"(\d+)(?:\.\.(\d+))?")
_UNFIT = re.compile(r"[^A-Za-z0-9_.+-]+")


class Rounds(msgspec.Struct, frozen=True):
    """Smallest and largest number of rounds, and the precision at which they end."""

    least: int = MINIMUM
    most: int = 100
    percent: float = 1.0
    """Half-width in % of the means' confidence intervals at which the run stops before `most`
    rounds.
    """

    @staticmethod
    def read(text: str) -> Rounds:
        """Parse a number of rounds such as `10` or `5..50`. Errors: UsageError."""
        found = _ROUNDS.fullmatch(text)
        if found is None:
            raise UsageError(f"-n {text} is no number of rounds", remedy="e.g. -n 20 or -n 5..50")
        least, most = int(found[1]), int(found[2] or found[1])
        if least < 1:
            raise UsageError(f"-n {text}: at least one round is needed", remedy="e.g. -n 5..50")
        if least > most:
            remedy = f"the smaller number comes first: -n {most}..{least}"
            raise UsageError(f"-n {text} ends below its beginning", remedy=remedy)
        return Rounds(least, most)


def experiment(
    parameters: Mapping[str, object],
    environments: Sequence[Mapping[str, object]],
    *,
    rounds: Rounds,
    warmup: int,
    budget_s: float,
    limit_s: float,
    verb: str = "measure",
    explain: Mapping[str, object] | None = None,
    metric: str = "",
) -> dict[str, object]:
    """Document of an experiment file; `parameters` are those of the program `command`.

    `budget_s` is for all rounds together, and may be exceeded to complete the least number of
    rounds; `limit_s` is for one repetition. `explain` is the table of that name, if any, and
    `metric` the metric to compare, if it is not the duration.
    """
    name = _name(str(parameters.get("command") or "script"))
    fixed = rounds.least == rounds.most
    stop: dict[str, object] = (
        {"repetitions": rounds.most}
        if fixed
        else {"min": rounds.least, "max": rounds.most, "interval_percent": rounds.percent}
    )
    return {
        "experiment": {
            "name": f"{verb}-{name}",
            "baseline": environments[0]["name"],
            "warmup": warmup,
            "time_limit": f"{max(_PATIENCE * budget_s, limit_s):g} s",
            **({"metric": metric} if metric else {}),
        },
        "stop": stop,
        **({"explain": dict(explain)} if explain is not None else {}),
        "environment": [dict(table) for table in environments],
        "workload": [
            {
                "name": name,
                "program": "command",
                "time_limit": f"{limit_s:g} s",
                **{key: value for key, value in parameters.items() if value not in ("", [], None)},
            }
        ],
    }


def _name(command: str) -> str:
    words = command.split()
    name = _UNFIT.sub("-", PurePath(words[0]).name if words else "").strip("-.")
    return name[:40] or "command"
