"""The ratios to the baseline as a LaTeX table with the rules of the package booktabs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from aferir.errors import UsageError
from aferir.report.formatting import change, labelled, p_value
from aferir.report.model import CellResult, Evaluation

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": "--",  # noqa: RUF001 - the sign of an empty field
    "∞": r"$\infty$",
    "µ": r"\textmu{}",
    "·": r"\textperiodcentered{}",
}


def write_latex(path: Path, evaluation: Evaluation) -> None:
    """Write the table, to be read by LaTeX's `input`. Errors: OSError; UsageError as `latex`."""
    path.write_text(latex(evaluation), encoding="utf-8")


def latex(evaluation: Evaluation) -> str:
    """A `tabular` with a row for each comparison; names cannot become commands.

    Errors: UsageError if the run compares nothing.
    """
    shown = [cell for cell in evaluation.cells if cell.ratio is not None]
    if not shown:
        raise UsageError(
            f"{evaluation.name} compares nothing, so there are no ratios for a table",
            remedy="it takes two environments with results on the same workload",
        )
    groups = [list(cells) for _, cells in groupby(shown, key=lambda cell: cell.group)]
    body = "\n\\addlinespace\n".join("\n".join(_rows(cells)) for cells in groups)
    level = round(100 * evaluation.rule.level)
    lines = (
        f"% Durations against {_comment(evaluation.baseline)} in {_comment(evaluation.name)}",
        r"% \usepackage{booktabs}",
        r"\begin{tabular}{llrrr}",
        r"\toprule",
        f"Workload & Environment & Difference [{level}\\,\\% interval] & $n$ & $p$ \\\\",
        r"\midrule",
        body,
        r"\bottomrule",
        r"\end{tabular}",
    )
    return "\n".join(line for line in lines if line) + "\n"


def _rows(cells: Sequence[CellResult]) -> list[str]:
    """Rows of one group; only the first row has the group's name."""
    rows = []
    for k, cell in enumerate(cells):
        ratio, verdict = cell.ratio, cell.verdict
        assert ratio is not None
        fields = (
            cell.group if k == 0 else "",
            labelled(cell.environment, cell.emulated),
            change(ratio.estimate, ratio.interval),
            str(ratio.n),
            p_value(verdict.p_adjusted if verdict else None),
        )
        row = " & ".join(map(escaped, fields)) + r" \\"
        # What ends the line before reads a bracket or a star as its own argument.
        rows.append("{}" + row if row.startswith(("[", "*")) else row)
    return rows


def escaped(text: str) -> str:
    """Escape a text so that LaTeX prints it unchanged."""
    return "".join(_SPECIAL.get(letter, letter) for letter in " ".join(text.split()))


def _comment(text: str) -> str:
    """Join the lines of a text, so that it does not leave the line of a LaTeX comment."""
    return " ".join(text.split())
