"""A run from start to end: prepare, run the rounds, release everything."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import msgspec

from aferir import __version__
from aferir.environments.base import Context, Environment, Kind
from aferir.errors import InterruptedRunError, RefusedError
from aferir.linux import journal
from aferir.linux.interrupts import ending_signals
from aferir.linux.running import Running
from aferir.linux.wait import MONOTONIC, Clock
from aferir.measuring.snapshots import Watch
from aferir.model.plan import Plan
from aferir.model.provenance import LeftOut, Provenance, Segment
from aferir.programs.base import Program
from aferir.runner.doubts import doubts
from aferir.runner.estimate import spent_before_s
from aferir.runner.preparation import Ready, prepare
from aferir.runner.progress import Progress, Silent
from aferir.runner.repetition import command_line
from aferir.runner.rounds import Enough, Session, go
from aferir.store import (
    Choice,
    Run,
    Writer,
    carried_over,
    choose,
    continue_run,
    create_run,
    open_run,
)


class OtherHost(Protocol):
    """A host that is reached over a connection to its agent."""

    def environment(self, kind: str) -> Environment:
        """Return the environment of kind `kind` on the host; nothing is allocated yet."""
        ...


_NOWHERE: Mapping[str, OtherHost] = {}
_SILENT = Silent()
_NOTHING = Watch()


def run(
    plan: Plan,
    runs: Path,
    *,
    experiment: bytes,
    kinds: Mapping[str, Kind],
    workloads: Mapping[str, Program[Any]],
    context: Context | None = None,
    elsewhere: Mapping[str, OtherHost] = _NOWHERE,
    watch: Watch = _NOTHING,
    facts: Mapping[str, Any] | None = None,
    progress: Progress = _SILENT,
    fresh: bool = False,
    reports: bool = False,
    clock: Clock = MONOTONIC,
    enough: Enough | None = None,
) -> Run:
    """Carry out `plan` in a new folder of `runs`, or continue an unfinished run of it.

    `experiment` is the experiment file as read. The newest unfinished run of the same plan and
    version is continued, unless `fresh` is set. If the caller writes the report
    (`reports`), a complete run without a report is returned instead, if there is one. `kinds` and
    `workloads` are indexed by name. Environments are made from `context`, which first removes what
    killed runs left, or by the host in `elsewhere` that they are on. `facts` about the machine are
    stored in the provenance. Time limits are measured by `clock` while aferir and
    its programs run. `enough` may end the run before any round.

    Errors: MissingError if nothing can run here, UsageError if the folder cannot be used,
    RefusedError if the disk is full, InterruptedRunError after Ctrl-C or SIGTERM: everything is
    released by then, and the run can be continued.
    """
    means = _means(plan, kinds, workloads, elsewhere, context or Context(), progress=progress)
    folder: Path | None = None
    running = Running(clock)
    with ending_signals():
        try:
            for problem in context.clean(journal.orphans()) if context is not None else ():
                progress.note(problem)
            choice = Choice(step="begin")
            if not fresh:
                choice = choose(runs, plan, __version__, facts, reports=reports)
            folder = choice.folder
            for note in (*choice.notes, *plan.shrunk):
                progress.note(note)
            if folder is not None and choice.step == "report":
                progress.note(f"{folder} is measured and wants its report; `--new` measures anew")
                return open_run(folder)
            if folder is None:
                start = _begin(plan, runs, experiment, means, dict(facts or {}))
            else:
                start = _go_on(folder, plan, progress)
            folder = start.writer.folder
            with start.writer, running.ticking():
                ready = start.ready or means.prepare(start.plan, start.provenance.left_out)
                session = means.session(start, ready, watch, running, enough)
                _carry_out(session, _merged(start.provenance, ready))
        except KeyboardInterrupt:
            raise _interrupted(folder) from None
    return open_run(folder)


class _Means(msgspec.Struct, frozen=True, kw_only=True):
    """Kinds, environments and programs with which a run is carried out."""

    kinds: Mapping[str, Kind]
    """Kinds that the plan names."""
    environments: Mapping[str, Environment]
    """Environments by the kind and the host of a specification."""
    workloads: Mapping[str, Program[Any]]
    progress: Progress

    def prepare(self, plan: Plan, earlier: Sequence[LeftOut] = ()) -> Ready:
        """Prepare what the plan needs: see `preparation.prepare`."""
        return prepare(
            plan,
            self.kinds,
            self.environments,
            self.workloads,
            progress=self.progress,
            earlier=earlier,
        )

    def session(
        self, start: _Start, ready: Ready, watch: Watch, running: Running, enough: Enough | None
    ) -> Session:
        """Session of a run that was started or is continued."""
        return Session(
            plan=start.plan,
            ready=ready,
            writer=start.writer,
            kinds=self.kinds,
            environments=self.environments,
            workloads=self.workloads,
            watch=msgspec.structs.replace(watch, load_period_s=start.plan.load_period_s),
            progress=self.progress,
            clock=running,
            spent_s=spent_before_s(start.provenance.segments, start.writer.records),
            enough=enough,
        )


class _Start(msgspec.Struct, frozen=True):
    """A run that is about to be carried out."""

    writer: Writer
    plan: Plan
    provenance: Provenance
    """Provenance as recorded so far."""
    ready: Ready | None = None
    """Result of the preparation; None if this process has prepared nothing yet."""


def _means(
    plan: Plan,
    kinds: Mapping[str, Kind],
    workloads: Mapping[str, Program[Any]],
    elsewhere: Mapping[str, OtherHost],
    context: Context,
    *,
    progress: Progress,
) -> _Means:
    """Create the environments and programs that a plan needs; no instance is allocated yet."""
    return _Means(
        kinds={spec.kind: kinds[spec.kind] for spec in plan.environments},
        environments={
            spec.place: elsewhere[spec.host].environment(spec.kind)
            if spec.host
            else kinds[spec.kind].make(context)
            for spec in plan.environments
        },
        workloads=workloads,
        progress=progress,
    )


def _begin(
    plan: Plan, runs: Path, experiment: bytes, means: _Means, facts: dict[str, Any]
) -> _Start:
    """Start a new run; its folder is made after the preparation succeeded."""
    ready = means.prepare(plan)
    provenance = _describe(plan, means.kinds, ready, facts)
    return _Start(create_run(runs, plan, experiment, provenance), plan, provenance, ready)


def _go_on(folder: Path, wanted: Plan, progress: Progress) -> _Start:
    """Open an unfinished run; returns it together with the plan that continues it."""
    progress.note(f"going on with {folder}")
    writer, earlier, problems = continue_run(folder)
    for problem in problems:
        progress.note(problem)
    plan = carried_over(earlier.plan, wanted)
    if plan != earlier.plan:
        writer.write_plan(plan)
    return _Start(writer, plan, earlier.provenance)


def _carry_out(session: Session, provenance: Provenance) -> None:
    """Run all rounds, and record the start and the end of this segment in the provenance."""
    writer = session.writer
    segment = Segment(started_unix_ns=time.time_ns())
    before = provenance.segments
    writer.write_provenance(_with(provenance, before, segment))
    done = False
    try:
        in_time = go(session)
        done = True
    finally:
        ended = msgspec.structs.replace(
            segment, ended_unix_ns=time.time_ns(), spent_s=round(session.spent_s(), 3)
        )
        provenance = _with(provenance, before, ended)
        if not done:
            with suppress(RefusedError):  # what ended the run is told, e.g. that the disk is full
                writer.write_provenance(provenance)
    warnings = doubts(session, provenance.facts, in_time=in_time)
    writer.write_provenance(msgspec.structs.replace(provenance, warnings=warnings))
    writer.finish()


def _describe(
    plan: Plan, kinds: Mapping[str, Kind], ready: Ready, facts: dict[str, Any]
) -> Provenance:
    hosts = {spec.name: spec.host for spec in plan.environments}
    by_name = {spec.name: kinds[spec.kind] for spec in plan.environments}
    return Provenance(
        version=__version__,
        facts=facts,
        commands={
            cell.id: command_line(
                by_name[cell.environment],
                ready.commands[cell.id],
                host=hosts[cell.environment],
            )
            for cell in plan.cells
            if cell.id in ready.commands
        },
    )


def _merged(provenance: Provenance, ready: Ready) -> Provenance:
    """Provenance to which this start's findings and images are added."""
    return msgspec.structs.replace(
        provenance,
        findings=tuple(dict.fromkeys((*provenance.findings, *ready.findings))),
        left_out=ready.left_out,
        images=provenance.images | ready.images,
        warnings=(),
    )


def _with(provenance: Provenance, before: Sequence[Segment], segment: Segment) -> Provenance:
    return msgspec.structs.replace(provenance, segments=(*before, segment))


def _interrupted(folder: Path | None) -> InterruptedRunError:
    if folder is None:
        return InterruptedRunError("interrupted before the first repetition: nothing was stored")
    return InterruptedRunError(
        f"interrupted: all instances are released, and what was measured is in {folder}",
        remedy="run the same command again to go on where it stopped",
    )
