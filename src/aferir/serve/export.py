"""Writes the pages as static files, e.g. as an artefact of continuous integration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from aferir.errors import AferirError
from aferir.linux.refusal import refusals
from aferir.serve import content, pages
from aferir.serve.content import Listed
from aferir.serve.follow import Progress, follow, state
from aferir.serve.site import Site, compared
from aferir.store.reported import FORMS


def export(runs: Path, target: Path) -> tuple[Path, ...]:
    """Write all pages over a folder of runs into `target`, and return their paths.

    Each run is compared with the run before it of the same experiment. Damaged runs are in the list
    only. Errors: UsageError if `runs` is no folder; RefusedError if a file cannot be written.
    """
    site = Site(runs, served=False)
    listed = content.listed(runs)
    written = [
        _write(target / name, site.answer(name).content)
        for name in ("index.html", "history.html", "style.css", "script.js")
    ]
    for place, one in enumerate(listed):
        if one.status != "damaged":
            written += _run(site, site.folder_of(one.name), _before(listed, place), target)
    return tuple(written)


def _before(listed: Sequence[Listed], place: int) -> Listed | None:
    """Latest earlier run of the same experiment; the list has the newest first."""
    mine = listed[place].experiment
    return next(
        (o for o in listed[place + 1 :] if o.experiment == mine and o.status != "damaged"), None
    )


def _run(site: Site, folder: Path, before: Listed | None, target: Path) -> list[Path]:
    """Write the pages of one run and return their paths; a page that cannot be made says why."""
    place = target / "run" / folder.name
    written, link = [], ""
    try:
        if before is not None:
            page = pages.comparison(compared(site.folder_of(before.name), folder), root="../")
            name = f"{folder.name}.html"
            written.append(_write(target / "compare" / name, _encoded(page)))
            link = f"../../compare/{pages.address(folder.name)}.html"
    except AferirError as error:
        written.append(_write(target / "compare" / f"{folder.name}.html", _excuse(error)))
    shown = content.shown(folder)
    progress = (
        state(shown.plan, follow(folder, Progress()), complete=False)
        if shown.listed.status == "unfinished"
        else None
    )
    page = pages.run(shown, progress, served=False, before=link)
    written.append(_write(place / "index.html", _encoded(page)))
    report = site.answer(f"run/{pages.address(folder.name)}/{FORMS['html']}")
    written.append(_write(place / FORMS["html"], report.content))
    return written


def _excuse(error: AferirError) -> bytes:
    page = pages.problem("This cannot be shown", error.message, error.remedy, root="../")
    return _encoded(page)


def _encoded(page: str) -> bytes:
    return page.encode(errors="backslashreplace")


def _write(path: Path, content: bytes) -> Path:
    with refusals(path, "written", remedy="name a folder that you may write in"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return path
