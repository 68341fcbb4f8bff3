"""Every chart of the report as an SVG file of its own."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from aferir.model.provenance import Provenance
from aferir.report import page
from aferir.report.blocks import Picture
from aferir.report.model import Evaluation
from aferir.report.write.picture import write_picture

_NAME = re.compile(r'aria-labelledby="(\S+)-title')
_TITLE = re.compile(r"<title[^>]*>([^<]*)</title>")


def write_svgs(
    folder: Path,
    evaluation: Evaluation,
    *,
    provenance: Provenance | None = None,
    reference: Path | None = None,
) -> tuple[Path, ...]:
    """Write the charts into a folder, named after what they show. Errors: OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for section in page.sections(evaluation, provenance=provenance, reference=reference):
        for block in section.blocks:
            for svg in block.draw() if isinstance(block, Picture) else ():
                path = folder / f"{_name(svg)}.svg"
                if path in written:
                    path = path.with_stem(f"{path.stem}-{len(written)}")
                write_picture(path, svg, title=_title(svg), caption="")
                written.append(path)
    return tuple(written)


def _name(svg: str) -> str:
    """Name of the chart in the ids of its parts."""
    found = _NAME.search(svg)
    return re.sub(r"[^\w.-]", "-", found[1]) if found else "chart"


def _title(svg: str) -> str:
    found = _TITLE.search(svg)
    return unescape(found[1]) if found else ""
