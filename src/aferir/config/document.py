"""Writes an experiment document as TOML: the inverse of reading one. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def write_toml(document: Mapping[str, object]) -> str:
    """TOML text of a document; empty tables and lists are left out."""
    return "\n".join(_table(document, "")).strip() + "\n"


def _table(table: Mapping[str, object], path: str) -> Iterator[str]:
    later: list[tuple[str, object]] = []
    for key, value in table.items():
        if isinstance(value, Mapping) or _is_tables(value):
            later.append((key, value))
        else:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in later:
        name = f"{path}.{_key(key)}" if path else _key(key)
        if isinstance(value, Mapping):
            if value:
                yield f"\n[{name}]"
                yield from _table(value, name)
        elif isinstance(value, list):
            for one in value:
                yield f"\n[[{name}]]"
                yield from _table(one, name)


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, Mapping) for v in value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: object) -> str:
    """TOML text of one value. Errors: TypeError for types without a form in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # TOML escapes the same characters as JSON, and DEL, which JSON does not escape.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"TOML has no form for {type(value).__name__}")
