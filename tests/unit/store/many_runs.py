"""Made-up runs, one after another, with a planted shift and changed conditions."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from aferir.model.plan import Plan
from aferir.model.provenance import Provenance
from aferir.model.record import Sample
from aferir.store.lines import encode_line
from aferir.store.run import MANIFEST, PLAN, PROVENANCE, RECORDS, Manifest
from benchmarks.report.made_up import plan_of, record_of

DAY_NS = 86_400 * 10**9
START_NS = 1_767_225_600 * 10**9
"""2026-01-01 00:00 UTC."""
COMMITS = ("a" * 40, "b" * 40)


def make(runs: Path, count: int, *, shift_at: int | None = None, environments: int = 2) -> Plan:
    """Make `count` daily runs of five repetitions with noise of 1 %.

    From the run `shift_at` on, the second environment takes 5 % longer and the commit is another.
    """
    plan = plan_of(environments, 1, 5)
    rng = np.random.default_rng(1)
    for k in range(count):
        late = shift_at is not None and k >= shift_at
        folder = runs / f"made-up-{k:03}"
        write(folder, plan, started_unix_ns=START_NS + k * DAY_NS, commit=COMMITS[late])
        with (folder / RECORDS).open("wb") as stream:
            for repetition in range(5):
                machine = float(rng.lognormal(0, 0.01))
                for cell in plan.cells:
                    slower = 1.05 if late and cell.environment != plan.baseline else 1.0
                    value = machine * slower * float(rng.lognormal(0, 0.01))
                    samples = (Sample("duration_s", value, "s"),)
                    record = record_of(cell, repetition, samples, failed=False)
                    stream.write(encode_line(record))
    return plan


def write(folder: Path, plan: Plan, *, started_unix_ns: int, commit: str = "") -> None:
    """Write all files of a run but its records."""
    folder.mkdir(parents=True)
    machine = {"kernel": "6.1.0-13 #1 SMP", "host_name": "node1", "cpu_model": "Model X"}
    facts = {"machine": machine, "software": {"project_revision": commit}}
    manifest = Manifest(
        format=1,
        version="0.2.0",
        name=plan.name,
        created_unix_ns=started_unix_ns,
        experiment_sha256="",
    )
    for name, value in (
        (PLAN, plan),
        (PROVENANCE, Provenance(version="0.2.0", facts=facts)),
        (MANIFEST, manifest),
    ):
        (folder / name).write_bytes(msgspec.json.encode(value))
