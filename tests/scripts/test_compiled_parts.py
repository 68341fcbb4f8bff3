"""The progress of a build, from the lines of ninja."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.checkout import ROOT


def test_a_line_at_each_quarter_and_everything_in_the_log(tmp_path: Path) -> None:
    parts = [f"  [{n}/9] Building C object [a] {n}.o" for n in range(1, 10)]
    lines = [
        "  *** Configuring [1/x]",
        "-- [a/b] [0/0] \\n %s",
        "[0/0]",
        *parts,
        "[1/1] Linking",
        "ready",
    ]
    log = tmp_path / "log"
    log.write_text("before\n")
    said = subprocess.run(
        [ROOT / "scripts/compiled-parts", log],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    told = [" ".join(line.split()[-3:]) for line in said.splitlines()]
    assert told == ["3 of 9", "5 of 9", "7 of 9", "9 of 9", "1 of 1"]
    assert log.read_text().splitlines() == ["before", *lines]
