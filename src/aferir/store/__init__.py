"""Run folders: written as the run goes, so that a crash at any moment loses one repetition at most.

A run is one folder:

    run.json           what it is: version, time, hash of the experiment file; written last of all
                       when the folder is made, so that a folder without it was never a run
    plan.json          what was to be run
    experiment.toml    the experiment file, byte by byte
    provenance.json    the conditions
    records.jsonl      one finished repetition a line, each synced before the next one starts
    complete.json      only once the run is done
    lock               held by the process that writes
"""

from __future__ import annotations

from aferir.store.resume import find_unfinished
from aferir.store.run import Run, RunSummary, list_runs, open_run
from aferir.store.writer import Writer, continue_run, create_run

__all__ = [
    "Run",
    "RunSummary",
    "Writer",
    "continue_run",
    "create_run",
    "find_unfinished",
    "list_runs",
    "open_run",
]
