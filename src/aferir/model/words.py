"""How values of a file or a command line are named to a user, and which word was meant."""

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
    """What TOML calls the type of a value."""
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return name
    return "a date or a time"


def shown(value: object) -> str:
    """A value of the file in one short printable line."""
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def choose(word: str, known: Iterable[str]) -> str:
    """The remedy for an unknown word: the closest known one, else all of them."""
    words = [word for word in known if word.isprintable() and len(word) <= 60]
    folded = {word.lower(): word for word in words}
    close = difflib.get_close_matches(word[:80].lower(), folded, n=1, cutoff=0.6)
    if close:
        return f"did you mean `{folded[close[0]]}`?"
    return f"choose one of {', '.join(f'`{w}`' for w in words)}" if words else "remove it"


def printable(key: str) -> str:
    """A key as it stands in a message."""
    return key if key.isprintable() and 0 < len(key) <= 60 else shown(key)
