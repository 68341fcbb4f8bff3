"""All about a kind of environment is in its module, and once in the documentation."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from aferir.registry import kinds
from tests.checkout import ROOT

SOURCES = sorted((ROOT / "src/aferir").rglob("*.py"))
DOCUMENTED = (ROOT / "docs/reference/environments.md").read_text(encoding="utf-8")


def asked_by_name(tree: ast.AST, names: frozenset[str]) -> Iterator[int]:
    """Lines that compare something called kind with the name of a kind."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            is_kind = any(ast.unparse(side).endswith("kind") for side in sides)
            words = {
                word.value
                for side in sides
                for word in ast.walk(side)
                if isinstance(word, ast.Constant) and isinstance(word.value, str)
            }
            if is_kind and words & names:
                yield node.lineno


def test_nothing_asks_for_a_kind_by_its_name() -> None:
    """A kind says what it is like: see `aferir.environments.base.Kind`."""
    names = frozenset(kinds())
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in SOURCES
        for line in asked_by_name(ast.parse(path.read_text(encoding="utf-8")), names)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("if spec.kind == 'vm': pass", [1]),
        ("x = 'native' != kind", [1]),
        ("ok = kind not in ('native', 'cloud')", [1]),
        ("ok = kind in KINDS", []),
        ("ok = entry.kind == 'cgroup'", []),
        ("ok = mode == 'vm'", []),
    ],
)
def test_such_a_question_would_be_found(code: str, lines: list[int]) -> None:
    assert list(asked_by_name(ast.parse(code), frozenset(kinds()))) == lines


@pytest.mark.parametrize("name", kinds())
def test_every_kind_has_a_line_in_the_documentation(name: str) -> None:
    assert f"| `{name}` |" in DOCUMENTED
