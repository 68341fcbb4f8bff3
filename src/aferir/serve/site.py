"""Answers requests for pages over a folder of runs by their addresses, without HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import get_args

import msgspec

from aferir.errors import AferirError, UsageError
from aferir.installed import installed
from aferir.linux.refusal import refused
from aferir.report.analyse import analyse
from aferir.report.compare import compare
from aferir.report.history import By, history
from aferir.report.likeness import other_conditions
from aferir.report.model import Evaluation, RunComparison
from aferir.report.write.html import html
from aferir.serve import content, pages
from aferir.serve.follow import Progress, State, follow, state
from aferir.store import Run, open_run
from aferir.store.history import figures
from aferir.store.reported import FORMS, is_reported
from aferir.store.run import COMPLETE, RECORDS, list_folders, read_manifest, read_plan

Query = Mapping[str, Sequence[str]]
"""Values of each key of an address's query."""
REPORTS = 8
"""Number of evaluated reports that stay in memory: one of 16 environments and 62 programs has 4.7
MB and took 2 s of CPU time, a usual one 0.1 MB and 0.1 s.
"""
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".csv": "text/csv; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
}


class Answer(msgspec.Struct, frozen=True):
    """Content of one address, and its type."""

    content: bytes
    media_type: str
    found: bool = True
    """Whether the address exists; if not, `content` is a page that says so."""


class Site:
    """Pages of one folder of runs; safe to use from several threads."""

    def __init__(self, folder: Path, *, served: bool) -> None:
        """Prepare the pages; only `served` ones, not static files, can use queries in addresses."""
        self._folder = folder
        self._served = served
        self._following, self._reporting = threading.Lock(), threading.Lock()
        self._progress: dict[str, Progress] = {}
        self._evaluated = lru_cache(REPORTS)(_evaluated)

    def answer(self, path: str, query: Query | None = None) -> Answer:
        """Content of an address such as `run/NAME/index.html`; the empty one is the list."""
        root = "../" * path.count("/")
        try:
            return self._answer(path.split("/"), query or {})
        except OSError as reason:  # e.g. the run was moved away meanwhile
            error: AferirError = refused(reason, act="read")
        except AferirError as reason:
            error = reason
        page = pages.problem("This cannot be shown", error.message, error.remedy, root=root)
        return Answer(_encoded(page), _TYPES[".html"], found=False)

    def _answer(self, parts: Sequence[str], query: Query) -> Answer:
        top: dict[str, Callable[[], str]] = {
            "": self._index,
            "index.html": self._index,
            "history.html": partial(self._history, query),
            "compare.html": partial(self._compare, query),
            "style.css": pages.style_sheet,
            "script.js": pages.script,
        }
        if len(parts) == 1 and parts[0] in top:
            kind = _TYPES[Path(parts[0] or "index.html").suffix]
            return Answer(_encoded(top[parts[0]]()), kind)
        if len(parts) == 3 and parts[0] == "run":
            return self._of_run(self.folder_of(pages.name_of(parts[1])), parts[2])
        raise UsageError("There is no such page.", remedy="Start at the list of runs.")

    def folder_of(self, name: str) -> Path:
        """Folder of a run that is in the list. Errors: UsageError for any other name."""
        for folder in list_folders(self._folder):
            if folder.name == name:
                return folder
        raise UsageError(f"There is no run {name}.", remedy="It may have been removed.")

    def _index(self) -> str:
        return pages.index(content.listed(self._folder), self._folder, served=self._served)

    def _history(self, query: Query) -> str:
        metric = next(iter(query.get("metric", ())), "duration_s")
        wanted = next(iter(query.get("by", ())), "run")
        by: By = next((one for one in get_args(By) if one == wanted), "run")
        ratio = bool(query.get("ratio"))
        found, unread = figures(self._folder, metric, ratio=ratio)
        told = history(found, unread, metric=metric, ratio=ratio, by=by)
        return pages.history(told, served=self._served)

    def _compare(self, query: Query) -> str:
        names = query.get("run", ())
        if len(names) != 2:
            raise UsageError(
                f"{len(names)} runs are chosen, and a comparison takes two.",
                remedy="Choose two in the list of runs.",
            )
        older, newer = sorted(map(self.folder_of, names), key=_created)
        return pages.comparison(compared(older, newer))

    def _of_run(self, folder: Path, name: str) -> Answer:
        if name == "index.html":
            return Answer(_encoded(self._run(folder)), _TYPES[".html"])
        if name == "state.json":
            return Answer(msgspec.json.encode(self._state(folder)), _TYPES[".json"])
        if name in FORMS.values() and is_reported(folder):
            return Answer((folder / name).read_bytes(), _TYPES[Path(name).suffix])
        if name == FORMS["html"]:
            return Answer(self._report(folder), _TYPES[".html"])
        raise UsageError("There is no such file.", remedy=f"`aferir report {folder}` writes it.")

    def _run(self, folder: Path) -> str:
        shown = content.shown(folder)
        unfinished = shown.listed.status == "unfinished"
        return pages.run(shown, self._state(folder) if unfinished else None, served=self._served)

    def _state(self, folder: Path) -> State:
        with self._following:
            progress = follow(folder, self._progress.get(folder.name, Progress()))
            self._progress[folder.name] = progress
        complete = (folder / COMPLETE).is_file()
        return state(read_plan(folder), progress, complete=complete)

    def _report(self, folder: Path) -> bytes:
        """Report of the records so far, kept until the records change."""
        path = folder / RECORDS
        known = path.stat() if path.exists() else None
        stamp = (known.st_size, known.st_mtime_ns) if known else (0, 0)
        with self._reporting:  # not that of progress: a report may take long
            return self._evaluated(folder, stamp)


def _evaluated(folder: Path, stamp: tuple[int, int]) -> bytes:  # noqa: ARG001 - the cache's key
    """Report of a run; `stamp`, the size and time of change of its records, only keys the cache."""
    return _encoded(report(folder))


def _created(folder: Path) -> int:
    return read_manifest(folder).created_unix_ns


def report(folder: Path) -> str:
    """Report of a run as one page, evaluated now. Errors: UsageError if it is damaged."""
    run = open_run(folder)
    return html(
        _evaluation(run), provenance=run.reported_provenance, reference=installed("reference")
    )


def compared(first: Path, second: Path) -> RunComparison:
    """Comparison of two runs, `second` against `first`. Errors: UsageError for damaged runs."""
    runs = [open_run(folder) for folder in (first, second)]
    notes = other_conditions(*([(run.plan, run.provenance)] for run in runs))
    result = compare(*map(_evaluation, runs), notes=notes)
    return msgspec.structs.replace(result, first=first.name, second=second.name)


def _evaluation(run: Run) -> Evaluation:
    return analyse(run.plan, run.records, specifications=run.specifications)


def _encoded(page: str) -> bytes:
    return page.encode(errors="backslashreplace")
