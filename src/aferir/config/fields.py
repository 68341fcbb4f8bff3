"""Reads one table of the file key by key, and collects an error for each invalid value."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, TypeGuard

import msgspec

from aferir.config.problems import Problems
from aferir.model.checking import read_fields
from aferir.model.parameters import names, text
from aferir.model.plan import Parameter
from aferir.model.words import choose, printable, shown

NAME_LENGTH = 40
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_INTEGER_LIMIT = 2**63
_NOTHING: Mapping[str, str] = {}


class Fields:
    """One table: each method returns None if a key is missing or its value is wrong.

    Wrong values are added to `problems` at once; missing keys only by `require`.
    """

    def __init__(self, table: Mapping[str, object], path: str, problems: Problems) -> None:
        self.table = table
        self.path = path
        self.problems = problems

    def at(self, key: str) -> str:
        """Path of a key inside the file."""
        return f"{self.path}.{key}" if self.path else key

    def wrong(self, key: str, message: str, remedy: str) -> None:
        """Add an error about the value of `key`."""
        self.problems.add(self.at(key), message, remedy)

    def require(self, key: str, example: str) -> None:
        """Add an error if the key is missing."""
        if key not in self.table:
            self.wrong(key, "is missing", f"add `{example}`")

    def only(self, known: Sequence[str]) -> None:
        """Add an error for unknown keys, so that a misspelt key is not ignored silently."""
        for key in self.table:
            if key not in known:
                self.problems.add(
                    self.at(printable(key)), "is not a key of this table", choose(key, known)
                )

    def read(self, struct: type[msgspec.Struct], others: Collection[str] = ()) -> dict[str, Any]:
        """Read the keys that the struct declares; returns the valid values by attribute.

        `others` are keys that are read elsewhere.
        """
        self.only((*names(struct), *others))
        values, wrong = read_fields(struct, self.table)
        for one in wrong:
            self.wrong(one.key, one.message, one.remedy)
        return values

    def choice(
        self, key: str, known: Sequence[str], example: str, instead: Mapping[str, str] = _NOTHING
    ) -> str | None:
        """Value of a mandatory key that must be one of several words.

        `instead` has the remedy of words that are right elsewhere.
        """
        self.require(key, example)
        value = self.table.get(key)
        if value is None or (isinstance(value, str) and value in known):
            return value
        word = value if isinstance(value, str) else ""
        remedy = instead.get(word) or choose(word, known)
        self.wrong(key, f"{shown(value)} is not known here", remedy)
        return None


def name_of(written: str) -> str:
    """Name that is valid in paths and in ids of cells. Errors: ValueError with a reason."""
    if _NAME.fullmatch(written):
        return written
    raise ValueError("is no name: letters, digits, `.`, `_` or `-`, a letter or digit first")


Name = Annotated[
    str,
    text("name", "ep", parse=name_of, pattern=f"^{_NAME.pattern}$", longest=NAME_LENGTH),
]


def is_parameter(value: object) -> TypeGuard[Parameter]:
    """True if a value may be a parameter of a program or a level of a factor."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, str):
        return 0 < len(value) <= 200 and value.isprintable()
    if isinstance(value, int):
        return -_INTEGER_LIMIT <= value < _INTEGER_LIMIT
    return False


PARAMETER_REMEDY = "write text, a finite number, `true` or `false`"


def is_table(value: object) -> TypeGuard[dict[str, object]]:
    """True if a value is a table of the file."""
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)
