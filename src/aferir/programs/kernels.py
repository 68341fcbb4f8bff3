"""Finds aferir's native programs, and parses the one line of JSON that each prints."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping

import msgspec

from aferir import installed
from aferir.errors import MissingError, ProgramError, UnverifiedError
from aferir.model.finding import Finding
from aferir.model.parameters import fields

_LONGEST_OUTPUT = 2**20

kernel_path = installed.program
"""Path of a native program by its name. Errors: MissingError if it is not installed."""


def check_kernels(subject: str, names: tuple[str, ...]) -> list[Finding]:
    """One finding for all native programs in `names`: ok, or the first one that is missing."""
    try:
        for name in names:
            kernel_path(name)
    except MissingError as error:
        return [Finding(subject, "missing", error.message, error.remedy)]
    return [Finding(subject, "ok", f"{len(names)} programs are installed")]


def read_figures(stdout: str, program: str) -> dict[str, object]:
    """The verified object that a program printed as its last line.

    `program`: prefix of the name that the object must contain. Errors: ProgramError if the line
    cannot be parsed or is another program's, UnverifiedError if the program found its own result
    wrong.
    """
    lines = stdout[-_LONGEST_OUTPUT:].strip().splitlines()
    try:
        figures = json.loads(lines[-1]) if lines else None
    except (ValueError, RecursionError):
        figures = None
    if not isinstance(figures, dict):
        raise ProgramError(
            f"a program of `{program}` printed no readable result: {_excerpt(lines)}",
            remedy="run it by hand to see what it says; `aferir doctor` names its folder",
        )
    if not str(figures.get("program", "")).startswith(program):
        raise ProgramError(f"the result is not of `{program}`: {_excerpt(lines)}")
    if figures.get("verified") is not True:
        why = str(figures.get("error") or "its check failed")
        raise UnverifiedError(
            f"{figures['program']} did not verify: {_excerpt([why])}",
            remedy="do not trust this machine's arithmetic or memory before it is explained",
        )
    return figures


def positive(figures: Mapping[str, object], key: str) -> float:
    """A finite number above zero. Errors: ProgramError if the value is anything else."""
    number = finite(figures, key)
    if number > 0:
        return number
    raise ProgramError(
        f"{figures.get('program')} printed `{key}` as {number!r}, not a positive number"
    )


def finite(figures: Mapping[str, object], key: str) -> float:
    """A finite number. Errors: ProgramError if the value is anything else."""
    value = figures.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise ProgramError(
        f"{figures.get('program')} printed `{key}` as {str(value)[:60]!r}, no number"
    )


def options(
    values: msgspec.Struct, keys: Collection[str] | None = None, *, always: Collection[str] = ()
) -> tuple[str, ...]:
    """Command line options for the parameters that differ from their defaults.

    `keys`: parameters to pass, None for all; `always`: parameters to pass even with their defaults.
    """
    words: list[str] = []
    for field in fields(type(values)):
        value = getattr(values, field.attribute)
        known = keys is None or field.key in keys
        if not known or value is None or (value == field.default and field.key not in always):
            continue
        if value is not False:
            words.append(f"--{field.key.replace('_', '-')}")
        if not isinstance(value, bool):
            words.append(str(value))
    return tuple(words)


def document(values: msgspec.Struct) -> str:
    """All parameters as a JSON document, from which another aferir reads the same values."""
    return msgspec.json.encode(values).decode()


def _excerpt(lines: list[str]) -> str:
    text = lines[-1] if lines else ""
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= 200 else f"{text[:197]}..."
