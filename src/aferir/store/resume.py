"""Finding the run that `aferir run FILE` goes on with."""

from __future__ import annotations

from pathlib import Path

from aferir.errors import AferirError
from aferir.model.plan import Plan
from aferir.store.run import PLAN, list_runs, read_json, read_manifest
from aferir.store.writer import content_hash


def find_unfinished(runs: Path, experiment: bytes, plan: Plan, version: str) -> Path | None:
    """The newest unfinished run of the same file, plan and kind of version; None: begin anew.

    The plan has to be the same too: the same file on a machine that has changed, or read by an
    aferir that expands it differently, is another experiment.
    """
    wanted = content_hash(experiment)
    for summary in list_runs(runs):
        if summary.status != "unfinished":
            continue
        try:
            manifest = read_manifest(summary.folder)
            if manifest.experiment_sha256 != wanted or not compatible(manifest.version, version):
                continue
            if read_json(summary.folder / PLAN, Plan) == plan:
                return summary.folder
        except AferirError:
            continue
    return None


def compatible(first: str, second: str) -> bool:
    """Whether two versions measure alike: same major, and same minor before 1.0 (semver.org)."""
    a, b = first.split("."), second.split(".")
    return a[0] == b[0] and (a[0] != "0" or a[1:2] == b[1:2])
