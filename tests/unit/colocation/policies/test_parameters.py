"""Parameters of the policy `aferir` agree with their documentation."""

from __future__ import annotations

import re

import msgspec

from aferir.colocation.policies.parameters import GONE, Parameters, gone, parameters, ranges
from tests.checkout import ROOT

_PAGE = ROOT / "docs" / "reference" / "colocation-policies.md"
_ROW = re.compile(r"\| `(\w+)` \| .* \| (-?[\d.]+) \| (-?[\d.]+) to (-?[\d.]+) \|")


def test_the_reference_has_every_parameter_with_its_default_and_range() -> None:
    rows = {name: tuple(map(float, numbers)) for name, *numbers in _ROW.findall(_PAGE.read_text())}
    assert rows.pop("batch_share") == (1, 0, 100)  # unless it is given, beside much work alone
    defaults = {field.name: field.default for field in msgspec.structs.fields(Parameters)}
    assert defaults.pop("batch_share") is None
    assert {name: row[0] for name, row in rows.items()} == defaults
    assert {name: row[1:] for name, row in rows.items()} == ranges()


def test_parameters_of_earlier_versions_are_accepted_and_named_with_what_decides_instead() -> None:
    assert parameters({"calm": 0.5, "shrink": 0.3}) == Parameters(shrink=0.3)
    assert gone({"calm": 0.5, "shrink": 0.3}) == [
        f"the parameter calm has no effect: {GONE['calm']}"
    ]
    assert not set(GONE) & set(ranges())
    assert all(name in _PAGE.read_text() for name in GONE)
