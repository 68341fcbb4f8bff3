"""Run folders: written during the run, so that a crash loses at most one repetition.

A run is one folder:

    run.json           what it is: version, time, hash of the experiment file; written last of all
                       when the folder is made, so that a folder without it was never a run
    plan.json          what was to be run
    experiment.toml    the experiment file, byte by byte
    provenance.json    the conditions
    records.jsonl      one finished repetition a line, each synced before the next one starts
    complete.json      only once the run is done, with the number of its records
    lock               held by the process that writes

Reports are written into the same folder, see `reported`; `records.damaged-1.jsonl` is a copy of
damaged records from before the run was continued.
"""

from __future__ import annotations

from aferir.store.difference import carried_over
from aferir.store.reported import FORMS, is_reported
from aferir.store.resume import Choice, choose
from aferir.store.run import Run, RunSummary, list_runs, open_run
from aferir.store.writer import Writer, continue_run, create_run

__all__ = [
    "FORMS",
    "Choice",
    "Run",
    "RunSummary",
    "Writer",
    "carried_over",
    "choose",
    "continue_run",
    "create_run",
    "is_reported",
    "list_runs",
    "open_run",
]
