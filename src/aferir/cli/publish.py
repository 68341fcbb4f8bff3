"""Writes the report of a run in all forms; if one cannot be written, all old files stay."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aferir.report.model import Evaluation
    from aferir.store import Run

_WRITING = ".report-"


def evaluate(run: Run) -> Evaluation:
    """Evaluate the records that a run has so far."""
    from aferir.report.analyse import analyse

    return analyse(run.plan, run.records, specifications=run.specifications)


def write_all(run: Run, evaluation: Evaluation, folder: Path | None = None) -> dict[str, Path]:
    """Write every form into `folder`, by default that of the run; returns the paths by form.

    Errors: RefusedError that names the file; then the old files are unchanged.
    """
    from aferir.linux.journal import sync_folder
    from aferir.linux.refusal import refusals
    from aferir.store import FORMS

    target = folder or run.folder
    paths = {form: target / name for form, name in FORMS.items()}
    with _staging(target) as staged:
        for form, name in FORMS.items():
            with refusals(paths[form], "written"):
                _write(form, staged / name, run, evaluation)
                _sync(staged / name)
        _replace(staged, paths.values())
        with suppress(OSError):  # a file system that cannot do that has the names all the same
            sync_folder(target)
    return paths


def _replace(staged: Path, paths: Collection[Path]) -> None:
    """Replace all old files by new ones; if one cannot be replaced, restore all old files."""
    from aferir.linux.refusal import refusals

    old = {path: staged / f"{path.name}.old" for path in paths}
    for path, kept in old.items():
        with suppress(OSError):  # not there yet, or a file system without hard links
            os.link(path, kept, follow_symlinks=False)
    done: list[Path] = []
    try:
        for path in paths:
            with refusals(path, "replaced"):
                (staged / path.name).replace(path)
            done.append(path)
    except BaseException:
        for path in done:
            with suppress(OSError):
                old[path].replace(path)
        raise


def _write(form: str, path: Path, run: Run, evaluation: Evaluation) -> None:
    from aferir.installed import installed
    from aferir.report.write.csv import write_samples_csv, write_summary_csv
    from aferir.report.write.html import write_html
    from aferir.report.write.json import write_json
    from aferir.report.write.markdown import write_markdown

    reference = installed("reference")
    if form == "html":
        write_html(path, evaluation, provenance=run.reported_provenance, reference=reference)
    elif form == "markdown":
        write_markdown(path, evaluation, provenance=run.reported_provenance, reference=reference)
    elif form == "json":
        write_json(path, evaluation, provenance=run.reported_provenance, reference=reference)
    elif form == "samples":
        write_samples_csv(path, run.records)
    else:
        write_summary_csv(path, evaluation)


@contextmanager
def _staging(target: Path) -> Iterator[Path]:
    """Make a temporary folder in `target`; those left there by killed writers are removed."""
    from aferir.linux.journal import sweep, unique
    from aferir.linux.refusal import refusals

    with refusals(target, "written", remedy=OTHER_FOLDER):
        target.mkdir(parents=True, exist_ok=True)
        sweep(target, _WRITING)
        staged = target / unique(_WRITING)
        staged.mkdir(mode=0o700)
    try:
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)


OTHER_FOLDER = "name a folder that you may write in: aferir report RUN --to FOLDER"


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
