"""What `perf stat` counted, in any of its three forms of output (perf-stat(1)).

Columns with -x, hold: value, unit, event, run time of the counter in ns, its share of the time in
percent, and a metric with its unit; with -I or -A others go before them. -j has a line of JSON for
each event. An event that could not be counted has words in place of a value.
"""

from __future__ import annotations

import json
import re

_MODIFIER = re.compile(r"^(.*?)(?::([ukh]+))?$")
_TABLE_LINE = re.compile(r"^\s*([\d,]+(?:\.\d+)?)\s+(?:(msec|Joules)\s+)?([a-z][\w:./-]*)(\s|$)")


def parse(text: str) -> dict[str, float]:
    """Counts by event with its modifier, e.g. `cycles:u`; what was not counted is left out."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        counted = _from_json(line) or _from_columns(line) or _from_table(line)
        if counted is not None:
            found.setdefault(*counted)
    return found


def cycles(counts: dict[str, float]) -> tuple[float, float] | None:
    """User and system cycles of a program; None where they were not both counted.

    Without a modifier `cycles` are of both, so that either of `cycles:u` and `cycles:k` is enough.
    """
    user, system, both = (counts.get(f"cycles{suffix}") for suffix in (":u", ":k", ""))
    if user is None and both is not None and system is not None:
        user = both - system
    if system is None and both is not None and user is not None:
        system = both - user
    return None if user is None or system is None else (user, system)


def _from_json(line: str) -> tuple[str, float] | None:
    if not line.lstrip().startswith("{"):
        return None
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return _counted(str(fields.get("counter-value")), str(fields.get("event")))


def _from_columns(line: str) -> tuple[str, float] | None:
    """The value is the column before the event's two: -I and -A put columns in front."""
    columns = line.split(",")
    if len(columns) < 5:
        return None
    for place in range(len(columns) - 4):
        event, run_time = columns[place + 2], columns[place + 3]
        if event and not _is_number(event) and _MODIFIER.match(event) and run_time.isdecimal():
            return _counted(columns[place], event)
    return None


def _from_table(line: str) -> tuple[str, float] | None:
    """The form for people; times of the whole at its end are no events."""
    found = _TABLE_LINE.match(line)
    if found is None or found[3] == "seconds":
        return None
    return _counted(found[1].replace(",", ""), found[3])


def _counted(value: str, event: str) -> tuple[str, float] | None:
    return (event, float(value)) if event and _is_number(value) else None


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+)?", text.strip()) is not None
