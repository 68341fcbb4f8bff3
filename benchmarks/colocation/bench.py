"""Measure SLA and batch work on a real service, the controller's cost, and what SIGKILL leaves."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aferir.colocation import privileges
from aferir.model.bench import BenchResult
from aferir.selftest.options import BenchOptions, Note
from benchmarks.colocation import cost, databases, kill, service, several, share
from benchmarks.parts import Part, run_parts

HELP = "batch work beside a service: SLA, batch work, the controller's cost, SIGKILL at any moment"
PEERS = ()
SELECTABLE = True
_PARTS: Mapping[str, Part] = MappingProxyType(
    {
        "controller": lambda options, note: cost.figures(note, quick=options.quick),
        "kill": lambda options, note: kill.figures(options.seed, note, quick=options.quick),
        "sla": service.sla,
        "fifo": service.fifo,
        "step": service.step,
        databases.PART: databases.databases,
        several.PART: several.figures,
        "share": share.figures,
    }
)


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Run all parts, or those that `--only` names. Errors: MissingError without the privileges."""
    privileges.check()
    return run_parts("colocate", _PARTS, options, note)
