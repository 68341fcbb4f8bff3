"""Charts as files: each is well-formed XML with its own colours, and none replaces another."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from aferir.report.analyse import analyse
from aferir.report.blocks import Picture
from aferir.report.page import sections
from aferir.report.write.svg import write_svgs
from tests.unit.report import wide_run
from tests.unit.report.one_run import one_run


def test_every_chart_of_the_report_is_a_file(tmp_path: Path) -> None:
    plan = wide_run.plan(3, 4)
    evaluation = analyse(plan, wide_run.records(plan))
    drawn = [
        svg
        for section in sections(evaluation)
        for block in section.blocks
        if isinstance(block, Picture)
        for svg in block.draw()
    ]
    written = write_svgs(tmp_path / "charts", evaluation)
    assert len(set(written)) == len(drawn) > 3
    assert sorted(written) == sorted((tmp_path / "charts").iterdir())


def test_a_chart_is_xml_with_its_style(tmp_path: Path) -> None:
    run, evaluation = one_run(tmp_path)
    for path in write_svgs(tmp_path / "charts", evaluation, provenance=run.provenance):
        root = ET.fromstring(path.read_text(encoding="utf-8"))  # noqa: S314 - our own file
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.find("{http://www.w3.org/2000/svg}style") is not None
