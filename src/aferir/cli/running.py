"""Carries out a plan with progress, probes and hosts, as the verbs need it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aferir.hosts.reaching import Reached
    from aferir.measuring.energy import Meter
    from aferir.model.host import HostSpec
    from aferir.model.plan import Plan
    from aferir.runner import Watch
    from aferir.runner.rounds import Enough
    from aferir.store import Run


def host_tables(path: Path) -> list[dict[str, object]]:
    """The [[host]] tables of a file. Errors: UsageError if it has other tables, or errors."""
    import tomllib

    from aferir import config

    document = tomllib.loads(
        config.with_hosts(b"", config.read_bytes(path), source=str(path)).decode()
    )
    return [dict(table) for table in document.get("host", [])]


@contextmanager
def reached(specs: Sequence[HostSpec]) -> Iterator[Reached | None]:
    """Connect to the hosts for the block, and allocate those of batch systems; None without hosts.

    Notes about them are printed, also about what could not be removed there at the end.
    """
    if not specs:
        yield None
        return
    from aferir.hosts import reaching

    found = reaching.reach(specs)
    try:
        _print(found.notes())
        yield found
    finally:
        _print(found.close())


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
    """Run a plan with progress on standard error, or continue an unfinished run of it.

    `watch` defaults to all probes; `reports` is set if the caller writes the report; `enough` ends
    the run after about `budget_s`; `others` are the hosts of its environments. Errors: as of
    `runner.run`.
    """
    from aferir import machine, probes, registry, runner
    from aferir.cli.progress import RunProgress
    from aferir.probes import account, frequency

    with RunProgress(budget_s=budget_s) as progress:
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
                meter=_meter(plan.power),
                price_per_hour=plan.price_per_hour,
            ),
            facts=machine.describe() | ({} if others is None else {"hosts": others.facts()}),
            elsewhere={} if others is None else others.places(plan),
            context=registry.context(progress.preparing),
            progress=progress,
            fresh=fresh,
            reports=reports,
            enough=enough,
        )


def _print(notes: Iterable[str]) -> None:
    for note in notes:
        print(f"aferir: {note}", file=sys.stderr)


def _meter(power: str) -> Callable[[], Meter] | None:
    if not power:
        return None
    from aferir.power import meter, sources

    return lambda: meter.Meter(sources.source(power))


def _program(name: str) -> Path | None:
    from aferir.errors import MissingError
    from aferir.programs.kernels import kernel_path

    try:
        return kernel_path(name)
    except MissingError:
        return None
