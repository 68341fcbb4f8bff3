"""Carrying out a plan with everything that a user's run has around it."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aferir.hosts.reaching import Reached
    from aferir.model.host import HostSpec
    from aferir.model.plan import Plan
    from aferir.runner import Watch
    from aferir.runner.rounds import Enough
    from aferir.store import Run


def host_tables(path: Path) -> list[dict[str, object]]:
    """The [[host]] tables of a file. Errors: UsageError where it has others, or wrong ones."""
    import tomllib

    from aferir import config

    document = tomllib.loads(
        config.with_hosts(b"", config.read_bytes(path), source=str(path)).decode()
    )
    return [dict(table) for table in document.get("host", [])]


def reached(specs: Sequence[HostSpec]) -> Reached:
    """Hosts as they answer; what a user has to know of them is said at once."""
    from aferir.hosts import reaching

    found = reaching.reach(specs)
    for note in found.notes():
        print(f"aferir: {note}", file=sys.stderr)
    return found


def carry_out(
    plan: Plan,
    experiment: bytes,
    runs: Path,
    *,
    fresh: bool = False,
    reports: bool = False,
    watch: Watch | None = None,
    enough: Enough | None = None,
    budget_s: float = math.inf,
    others: Reached | None = None,
) -> Run:
    """Run it with progress on standard error, or go on with an unfinished run of the same content.

    `watch` is everything that there is to be looked at, unless it is given; `reports`: the caller
    reports the run; `enough` ends it after about `budget_s`; `others` are the hosts that its
    environments are on. Errors: as of `runner.run`.
    """
    from aferir import machine, probes, registry, runner
    from aferir.cli.progress import RunProgress
    from aferir.probes import account, frequency

    lines: AbstractContextManager[object] = nullcontext() if others is None else closing(others)
    with RunProgress(budget_s=budget_s) as progress, lines:
        return runner.run(
            plan,
            runs,
            experiment=experiment,
            kinds=registry.kinds(),
            workloads=registry.all_programs(),
            watch=watch
            or runner.Watch(
                probes.all_probes(),
                _program(frequency.PROGRAM),
                _program(account.PROGRAM) if plan.server is not None else None,
            ),
            facts=machine.describe() | ({} if others is None else {"hosts": others.facts()}),
            elsewhere={} if others is None else others.places(plan),
            context=registry.context(),
            progress=progress,
            fresh=fresh,
            reports=reports,
            enough=enough,
        )


def _program(name: str) -> Path | None:
    from aferir.errors import MissingError
    from aferir.programs.kernels import kernel_path

    try:
        return kernel_path(name)
    except MissingError:
        return None
