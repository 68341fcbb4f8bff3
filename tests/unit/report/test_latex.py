"""The table for LaTeX: one row for each comparison, and names that are no commands."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from aferir.errors import UsageError
from aferir.report.write.latex import escaped, latex
from tests.unit.report.one_run import one_run


def test_each_comparison_is_a_row_with_its_interval_n_and_p(tmp_path: Path) -> None:
    _, evaluation = one_run(tmp_path)
    table = latex(evaluation)
    (row,) = [line for line in table.splitlines() if "kind-1" in line]
    fields = row.removesuffix(r" \\").split(" & ")
    assert len(fields) == 5
    assert re.fullmatch(r"\+20 \\% \[\+\d\d, \+\d\d\]", fields[2])
    assert fields[3] == "7"
    rules = re.findall(r"\\(toprule|midrule|bottomrule|begin|end)", table)
    assert rules == ["begin", "toprule", "midrule", "bottomrule", "end"]


def test_every_special_letter_is_set_as_it_is(tmp_path: Path) -> None:
    assert escaped("50%_of $all{\\x}") == r"50\%\_of \$all\{\textbackslash{}x\}"
    assert escaped("a\nb~^#&") == r"a b\textasciitilde{}\textasciicircum{}\#\&"
    _, evaluation = one_run(tmp_path)
    evil = msgspec.structs.replace(evaluation, name="x\n\\input{y}")
    assert latex(evil).splitlines()[0] == r"% Durations against native in x \input{y}"


@pytest.mark.parametrize("name", ["[3pt]", "*", " [x"])
def test_a_row_is_no_argument_of_the_line_before(name: str, tmp_path: Path) -> None:
    _, evaluation = one_run(tmp_path)
    cells = tuple(msgspec.structs.replace(cell, group=name) for cell in evaluation.cells)
    rows = latex(msgspec.structs.replace(evaluation, cells=cells)).splitlines()
    assert any(row.startswith("{}" + name.strip()) for row in rows)
    assert not any(row.lstrip().startswith(("[", "*")) for row in rows)


def test_a_run_that_compares_nothing_has_no_table(tmp_path: Path) -> None:
    _, evaluation = one_run(tmp_path)
    with pytest.raises(UsageError, match="compares nothing"):
        latex(msgspec.structs.replace(evaluation, cells=evaluation.cells[:1]))
