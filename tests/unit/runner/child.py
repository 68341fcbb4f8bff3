"""A whole run in a process of its own, for a test that kills it: python -m tests.unit.runner.child.

Arguments: the folder of runs. The exit code is 0 once the run is complete.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from aferir.config import parse
from aferir.environments.native import NATIVE
from aferir.model.plan import HostLimits, Plan
from aferir.probes import all_probes
from aferir.registry import kinds
from aferir.runner import Watch, run
from tests.unit.runner.fakes import WORKLOADS, experiment

SCRIPTS = {
    "quick": "echo '{\"duration_s\": 0.5}'",
    "slower": "sleep 0.03; echo '{\"duration_s\": 0.5}'",
    "wrong": "echo nothing; exit 3",
}
CONTENT = experiment(environments=["native"], workloads=SCRIPTS, stop="repetitions = 25")


def plan() -> Plan:
    """A plan as large as the host, so that the native environment needs no limits."""
    host = HostLimits(cpus=tuple(sorted(os.sched_getaffinity(0))), memory_bytes=2**60)
    return parse(CONTENT, host, WORKLOADS, kinds())


def main(runs: Path) -> None:
    run(
        plan(),
        runs,
        experiment=CONTENT,
        kinds={"native": NATIVE},
        workloads=WORKLOADS,
        watch=Watch(all_probes()),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
