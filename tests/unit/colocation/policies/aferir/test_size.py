"""Limits on the number of constants and lines of the policy."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec

from aferir.colocation.policies.parameters import Parameters
from tests.checkout import ROOT

_PACKAGE = ROOT / "src" / "aferir" / "colocation" / "policies" / "aferir"
_OF_THE_KERNEL = {"_TICK_S", "_EVERYBODYS", "_MOST"}
"""Tick of the kernel, default and largest weight of a control group."""


def _numbers(path: Path) -> Iterator[str]:
    """Names of the module's own numeric constants."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign):
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            if any(isinstance(value, (ast.Constant, ast.BinOp)) for value in values):
                targets = node.targets[0]
                names = targets.elts if isinstance(targets, ast.Tuple) else [targets]
                yield from (name.id for name in names if isinstance(name, ast.Name))


def test_there_are_at_most_twelve_constants_that_follow_from_nothing_else() -> None:
    of_parameters = [
        field.name for field in msgspec.structs.fields(Parameters) if field.default is not None
    ]
    of_modules = [name for path in sorted(_PACKAGE.glob("*.py")) for name in _numbers(path)]
    derived = {"_HIGHEST"}  # of _DOWN
    own = set(of_modules) - _OF_THE_KERNEL - derived
    assert len(of_parameters) + len(own) <= 12, [*of_parameters, *sorted(own)]


def _statements(path: Path) -> int:
    """Lines of the module that are neither empty nor a comment nor part of a docstring."""
    text, told = path.read_text(), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            told |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(bool(line.strip()) and line.strip()[0] != "#" for k, line in lines if k not in told)


def test_the_package_has_at_most_six_hundred_lines_of_code() -> None:
    assert sum(_statements(path) for path in _PACKAGE.glob("*.py")) <= 600
