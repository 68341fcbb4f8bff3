"""Reading one table of the file, key by key, with a problem noted for whatever does not fit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeGuard, TypeVar

from aferir.config.problems import Problems
from aferir.model.plan import Parameter
from aferir.model.units import parse_duration, parse_size
from aferir.model.words import choose, kind_of, printable, shown

NAME_LENGTH = 40
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_INTEGER_LIMIT = 2**63
_Value = TypeVar("_Value", int, float)


class Fields:
    """One table: each method returns None where the key is missing or its value is wrong.

    What is wrong is in `problems` by then; what is missing only after `require`.
    """

    def __init__(self, table: Mapping[str, object], path: str, problems: Problems) -> None:
        self.table = table
        self.path = path
        self.problems = problems

    def at(self, key: str) -> str:
        """Path of a key inside the file."""
        return f"{self.path}.{key}" if self.path else key

    def wrong(self, key: str, message: str, remedy: str) -> None:
        """Note a problem with the value of `key`."""
        self.problems.add(self.at(key), message, remedy)

    def require(self, key: str, example: str) -> None:
        """Note a problem where the key is missing."""
        if key not in self.table:
            self.wrong(key, "is missing", f"add `{example}`")

    def only(self, known: Sequence[str]) -> None:
        """Refuse keys that mean nothing here: a misspelt key must not be ignored in silence."""
        for key in self.table:
            if key not in known:
                self.problems.add(
                    self.at(printable(key)), "is not a key of this table", choose(key, known)
                )

    def text(self, key: str, *, longest: int = 200) -> str | None:
        """A line of text without control characters."""
        value = self.table.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self.wrong(key, f"{shown(value)} is {kind_of(value)}, not text", 'write it in "quotes"')
        elif not value.strip() or len(value) > longest or not value.isprintable():
            self.wrong(
                key,
                f"{shown(value)} is empty, too long or holds control characters",
                f"use 1 to {longest} printable characters",
            )
        else:
            return value
        return None

    def name(self, key: str, example: str) -> str | None:
        """A name that may stand in paths and in identifiers of cells."""
        self.require(key, example)
        value = self.table.get(key)
        if value is None:
            return None
        if isinstance(value, str) and len(value) <= NAME_LENGTH and _NAME.fullmatch(value):
            return value
        self.wrong(
            key,
            f"{shown(value)} is no name",
            f"use 1 to {NAME_LENGTH} letters, digits, `.`, `_` or `-`, a letter or digit first",
        )
        return None

    def choice(self, key: str, known: Sequence[str]) -> str | None:
        """One of a few words."""
        value = self.table.get(key)
        if value is None:
            return None
        if isinstance(value, str) and value in known:
            return value
        remedy = choose(value if isinstance(value, str) else "", known)
        self.wrong(key, f"{shown(value)} is not known here", remedy)
        return None

    def flag(self, key: str) -> bool | None:
        """True or false."""
        value = self.table.get(key)
        if value is None or isinstance(value, bool):
            return value
        self.wrong(key, f"{shown(value)} is {kind_of(value)}", "write `true` or `false`")
        return None

    def integer(self, key: str, low: int, high: int) -> int | None:
        """A whole number, low <= it <= high."""
        value = self.table.get(key)
        if value is None:
            return None
        between = f"write a whole number from {low} to {high}"
        if isinstance(value, bool) or not isinstance(value, int):
            self.wrong(key, f"{shown(value)} is {kind_of(value)}, not a whole number", between)
        elif not low <= value <= high:
            self.wrong(key, f"{shown(value)} is out of range", between)
        else:
            return value
        return None

    def number(self, key: str, low: float, high: float) -> float | None:
        """A number, low < it <= high."""
        value = self.table.get(key)
        if value is None:
            return None
        between = f"write a number above {low:g} and up to {high:g}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.wrong(key, f"{shown(value)} is {kind_of(value)}, not a number", between)
        elif not low < value <= high:  # NaN compares false, and so is refused too
            self.wrong(key, f"{shown(value)} is out of range", between)
        else:
            return float(value)
        return None

    def size(self, key: str) -> int | None:
        """A size with its unit, in bytes."""
        return self._with_unit(key, parse_size, "1 GiB", "size")

    def duration(self, key: str, low_s: float, high_s: float) -> float | None:
        """A duration with its unit, in seconds, low <= it <= high."""
        value = self._with_unit(key, parse_duration, "90 s", "duration")
        if value is None or low_s <= value <= high_s:
            return value
        self.wrong(
            key,
            f"{shown(self.table[key])} is out of range",
            f"write a duration from {low_s:g} s to {high_s:g} s",
        )
        return None

    def _with_unit(
        self, key: str, parse: Callable[[str], _Value], example: str, what: str
    ) -> _Value | None:
        value = self.table.get(key)
        if value is None:
            return None
        remedy = f'write a number and a unit, e.g. `{key} = "{example}"`'
        if not isinstance(value, str):
            self.wrong(key, f"{shown(value)} is {kind_of(value)}, not a {what}", remedy)
            return None
        try:
            parsed = parse(value)
        except ValueError as reason:
            self.wrong(key, f"{shown(value)} is not a {what}: {reason}", remedy)
            return None
        if parsed <= 0:
            self.wrong(key, f"{shown(value)} is nothing", remedy)
            return None
        return parsed


def is_parameter(value: object) -> TypeGuard[Parameter]:
    """Whether a value may be a parameter of a program or a level of a factor."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, str):
        return 0 < len(value) <= 200 and value.isprintable()
    if isinstance(value, int):
        return -_INTEGER_LIMIT <= value < _INTEGER_LIMIT
    return False


PARAMETER_REMEDY = "write text, a finite number, `true` or `false`"


def is_table(value: object) -> TypeGuard[dict[str, object]]:
    """Whether a value is a table of the file."""
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)
