"""Words for values of a file or a command line in messages, and suggestions for unknown words."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "true or false"),
    (int, "a whole number"),
    (float, "a number"),
    (str, "text"),
    (list, "a list"),
    (dict, "a table"),
)


def kind_of(value: object) -> str:
    """Name of a value's type in TOML's terms."""
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return name
    return "a date or a time"


def shown(value: object) -> str:
    """A value of the file as one short printable line."""
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def choose(word: str, known: Iterable[str]) -> str:
    """Remedy for an unknown word: the closest known one, else a list of all."""
    words = [word for word in known if word.isprintable() and len(word) <= 60]
    if nearest := closest(word, words):
        return f"did you mean `{nearest}`?"
    return f"choose one of {', '.join(f'`{w}`' for w in words)}" if words else "remove it"


def closest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like an unknown one; empty if none is like it."""
    folded = {each.lower(): each for each in known}
    close = difflib.get_close_matches(word[:80].lower(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else ""


def printable(key: str) -> str:
    """A key as it is shown in a message."""
    return key if key.isprintable() and 0 < len(key) <= 60 else shown(key)
