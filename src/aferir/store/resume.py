"""Decides what `aferir run FILE` does with existing runs: continue, report, or start anew."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from aferir.errors import AferirError
from aferir.linux.refusal import owner_of, refused
from aferir.model.plan import Plan, recorded_cells
from aferir.model.provenance import Provenance
from aferir.store.difference import difference
from aferir.store.lines import salvage
from aferir.store.reported import is_reported
from aferir.store.run import (
    COMPLETE,
    LOCK,
    PLAN,
    PROVENANCE,
    RECORDS,
    RunSummary,
    content_of,
    exists,
    list_runs,
    read_json,
    read_manifest,
    read_plan,
)


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """Decision, with notes for the user."""

    step: Literal["begin", "continue", "report"]
    folder: Path | None = None
    """Run to continue or to report."""
    notes: tuple[str, ...] = ()
    """One sentence for each run of this experiment that cannot be continued, with the reason."""


def choose(
    runs: Path,
    plan: Plan,
    version: str,
    facts: Mapping[str, Any] | None = None,
    *,
    reports: bool = False,
) -> Choice:
    """Find a run of the same plan on the same processor that is to be continued or reported.

    The newest unfinished one is continued, and the newest complete one if its time limit ended it
    and the plan's limit is longer. If there is none and `reports` is set, the newest
    complete one is reported if its report is missing, because the writer was killed or failed. Runs
    of this experiment that are newer than its last complete one and cannot be continued are listed
    with the reason.
    """
    notes: list[str] = []
    unreported: Path | None = None
    superseded = False
    for summary in list_runs(runs):
        if not _is_of(summary, plan):
            continue
        if summary.status == "complete":
            if not superseded and _obstacle(summary, plan, version, facts or {}) == "":
                if summary.note and plan.time_limit_s > read_plan(summary.folder).time_limit_s:
                    return Choice(step="continue", folder=summary.folder, notes=tuple(notes))
                unreported = None if is_reported(summary.folder) else summary.folder
            superseded = True
            continue
        why = _obstacle(summary, plan, version, facts or {})
        if not why:
            return Choice(step="continue", folder=summary.folder, notes=tuple(notes))
        if not superseded:
            notes.append(f"{summary.folder} is left as it is: {why}")
    if reports and unreported is not None:
        return Choice(step="report", folder=unreported, notes=tuple(notes))
    return Choice(step="begin", notes=tuple(notes))


def compatible(first: str, second: str) -> bool:
    """True if two versions measure alike: same major, and before 1.0 same minor (semver.org)."""
    a, b = first.split("."), second.split(".")
    return a[0] == b[0] and (a[0] != "0" or a[1:2] == b[1:2])


def _is_of(summary: RunSummary, plan: Plan) -> bool:
    """True if it is a run of the plan's experiment, by the name in its manifest or folder."""
    return summary.name == plan.name or summary.folder.name.startswith(f"{plan.name}-2")


def _obstacle(summary: RunSummary, plan: Plan, version: str, facts: Mapping[str, Any]) -> str:
    """Reason why the run cannot be continued or reported; empty: it can."""
    if summary.status == "unreadable":
        return summary.note
    try:
        other = _unlike(summary.folder, plan, version, facts)
        return other or _beyond_repair(summary)
    except AferirError as error:
        return error.message


def _kept(folder: Path) -> dict[str, Any]:
    """Stored plan of a run. Errors: UsageError if it is not valid."""
    read_plan(folder)
    return read_json(folder / PLAN, dict[str, Any])


def _unlike(folder: Path, plan: Plan, version: str, facts: Mapping[str, Any]) -> str:
    """Reason why the run does not fit this plan, version and machine; else empty."""
    manifest = read_manifest(folder)
    if not compatible(manifest.version, version):
        return f"aferir {manifest.version} measured it, and this is {version}"
    if other := difference(_kept(folder), plan):
        return f"its plan is another: {other}"
    then = read_json(folder / PROVENANCE, Provenance).facts
    old, new = (each.get("machine", {}).get("cpu_model", "") for each in (then, facts))
    if old and new and old != new:
        return f"it was measured on another processor: {old}, and this is {new}"
    return ""


def _beyond_repair(summary: RunSummary) -> str:
    """Damage other than in lines of records, which can be measured again; else empty."""
    folder = summary.folder
    if summary.status == "damaged":
        # The run was complete, so its lost records cannot be repeated under the same conditions.
        if exists(folder / COMPLETE):
            return summary.note
        try:
            cells = recorded_cells(read_plan(folder))
            _, problems = salvage(content_of(folder / RECORDS), cells)
        except OSError as reason:
            return refused(reason, folder / RECORDS, "read").message
        if not problems:
            return summary.note
    paths = (folder, *folder.glob("*.json"), *folder.glob("*.jsonl"), *folder.glob(LOCK))
    if not all(os.access(path, os.W_OK) for path in paths):
        return f"you may not write there{owner_of(folder)}"
    return ""
