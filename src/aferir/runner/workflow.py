"""A run from its start to its end: prepare, go round by round, and give everything back."""

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
from aferir.linux.running import Running
from aferir.linux.wait import MONOTONIC, Clock
from aferir.machine.capabilities import OUT_OF_IT, UNLIKE_OTHERS
from aferir.measuring.snapshots import Watch
from aferir.model.plan import Plan
from aferir.model.provenance import Provenance, Segment
from aferir.model.record import Warning
from aferir.programs.base import Program
from aferir.runner.estimate import spent_before_s
from aferir.runner.interrupts import ending_signals
from aferir.runner.preparation import Ready, prepare, warnings_of
from aferir.runner.progress import Progress, Silent
from aferir.runner.repetition import command_line
from aferir.runner.rounds import Enough, Session, go
from aferir.runner.stopping import MOST_FAILURES, History, given_up
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

_LARGER_MACHINE = "do not set it beside figures of larger machines; there it runs as it is written"


class OtherHost(Protocol):
    """A host that is reached over a line."""

    def environment(self, kind: str) -> Environment:
        """Return that kind of environment there; nothing is made yet."""
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
    """Carry out `plan` and keep it in a new folder of `runs`, or go on with an unfinished one.

    `experiment` is the experiment file as it was read: the newest unfinished run of the same plan
    and version is continued, unless `fresh`. With `reports` the caller reports what is returned,
    and it is a complete run whose report was cut off, if there is one. `kinds` and `workloads` are
    by name; environments are made with `context`, which first undoes what dead owners left in the
    journal, or by the host of `elsewhere` that they are on. `facts` of the machine go into the
    provenance. Time limits are counted on `clock`, as far as aferir and its programs run. `enough`
    may end it before any round.

    Errors: MissingError where nothing can run here, UsageError where the folder cannot be used,
    RefusedError where the disk takes no more, InterruptedRunError after Ctrl-C or SIGTERM:
    everything is given back by then, and the run can be continued.
    """
    used = {spec.kind: kinds[spec.kind] for spec in plan.environments}
    environments = {
        spec.place: elsewhere[spec.host].environment(spec.kind)
        if spec.host
        else used[spec.kind].make(context or Context())
        for spec in plan.environments
    }
    folder: Path | None = None
    running = Running(clock)
    with ending_signals():
        try:
            if context is not None:
                for problem in context.clean(journal.orphans()):
                    progress.note(problem)
            choice = Choice(step="begin")
            if not fresh:
                choice = choose(runs, plan, __version__, facts, reports=reports)
            for note in (*choice.notes, *plan.shrunk):
                progress.note(note)
            folder = choice.folder
            if choice.step == "report":
                assert folder is not None
                progress.note(f"{folder} is measured and wants its report; `--new` measures anew")
                return open_run(folder)
            if folder is None:
                ready = prepare(plan, used, environments, workloads, progress=progress)
                provenance = _describe(plan, used, ready, dict(facts or {}))
                writer = create_run(runs, plan, experiment, provenance)
                folder = writer.folder
            else:
                progress.note(f"going on with {folder}")
                writer, plan, provenance = _go_on(folder, plan, progress)
                ready = None
            with writer, running.ticking():
                ready = ready or prepare(
                    plan,
                    used,
                    environments,
                    workloads,
                    progress=progress,
                    earlier=provenance.left_out,
                )
                session = Session(
                    plan=plan,
                    ready=ready,
                    writer=writer,
                    kinds=used,
                    environments=environments,
                    workloads=workloads,
                    watch=msgspec.structs.replace(watch, load_period_s=plan.load_period_s),
                    progress=progress,
                    clock=running,
                    spent_s=spent_before_s(provenance.segments, writer.records),
                    enough=enough,
                )
                _carry_out(session, _merged(provenance, ready))
        except KeyboardInterrupt:
            raise _interrupted(folder) from None
    return open_run(folder)


def _go_on(folder: Path, wanted: Plan, progress: Progress) -> tuple[Writer, Plan, Provenance]:
    """The writer of an unfinished run, the plan that it goes on with, and its conditions so far."""
    writer, earlier, problems = continue_run(folder)
    for problem in problems:
        progress.note(problem)
    plan = carried_over(earlier.plan, wanted)
    if plan != earlier.plan:
        writer.write_plan(plan)
    return writer, plan, earlier.provenance


def _carry_out(session: Session, provenance: Provenance) -> None:
    """All rounds, with the start and the end of this segment in the provenance."""
    writer, plan = session.writer, session.plan
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
    warnings = warnings_of(plan, session.ready) + _skipped(session) + _given_up(session)
    warnings += _own_group(session, provenance.facts) + _throttled(provenance.facts)
    warnings += tuple(Warning("shrunk", text, _LARGER_MACHINE) for text in plan.shrunk)
    if not in_time:
        warnings += (_time_limit(plan),)
    writer.write_provenance(msgspec.structs.replace(provenance, warnings=warnings))
    writer.finish()


def _describe(
    plan: Plan, kinds: Mapping[str, Kind], ready: Ready, facts: dict[str, Any]
) -> Provenance:
    elsewhere = {spec.name for spec in plan.environments if spec.host}
    by_name = {spec.name: kinds[spec.kind] for spec in plan.environments}
    return Provenance(
        version=__version__,
        facts=facts,
        commands={
            cell.id: command_line(
                by_name[cell.environment],
                ready.commands[cell.id],
                elsewhere=cell.environment in elsewhere,
            )
            for cell in plan.cells
            if cell.id in ready.commands
        },
    )


def _merged(provenance: Provenance, ready: Ready) -> Provenance:
    """What this start has found, with what an earlier one has found besides."""
    return msgspec.structs.replace(
        provenance,
        findings=tuple(dict.fromkeys((*provenance.findings, *ready.findings))),
        left_out=ready.left_out,
        images=provenance.images | ready.images,
        warnings=(),
    )


def _with(provenance: Provenance, before: Sequence[Segment], segment: Segment) -> Provenance:
    return msgspec.structs.replace(provenance, segments=(*before, segment))


def _skipped(session: Session) -> tuple[Warning, ...]:
    """One warning for each environment that was emulated and spared some of its workloads."""
    history = History(session.plan.warmup, session.writer.records)
    slots = session.plan.warmup + session.plan.stop.maximum
    skipped: dict[str, list[str]] = {}
    for cell in session.plan.cells:
        if cell.workload.skip_emulated and history.emulated(cell.environment, slots):
            skipped.setdefault(cell.environment, []).append(cell.group)
    return tuple(
        Warning(
            "skipped-emulated",
            f"{name} is emulated in software and was spared {', '.join(groups)}",
            "run the experiment on a host with hardware virtualisation",
        )
        for name, groups in skipped.items()
    )


def _given_up(session: Session) -> tuple[Warning, ...]:
    history = History(session.plan.warmup, session.writer.records)
    return tuple(
        Warning(
            "given-up",
            f"{cell.id} failed {MOST_FAILURES} times in a row and was given up",
            "see its failures, mend the cause and run the experiment anew",
        )
        for cell in session.plan.cells
        if given_up(history, cell.id)
    )


def _own_group(session: Session, facts: Mapping[str, Any]) -> tuple[Warning, ...]:
    """Where programs on the host are held back by what does not hold the others."""
    group = facts.get("machine", {}).get("own_group", "")
    if not group or {kind.on_host for kind in session.kinds.values()} != {True, False}:
        return ()
    return (Warning("own-group", f"{UNLIKE_OTHERS} {group}", OUT_OF_IT),)


def _throttled(facts: Mapping[str, Any]) -> tuple[Warning, ...]:
    """Where all that was run had less than the CPUs that it saw."""
    machine = facts.get("machine", {})
    quota = machine.get("limits", {}).get("cpus")
    if quota is None or quota >= len(machine.get("allowed_cpus", ())):
        return ()
    return (
        Warning(
            "cpu-limit",
            f"a control group around aferir held all programs to {quota:g} CPUs",
            "start the container around aferir without such a limit",
        ),
    )


def _time_limit(plan: Plan) -> Warning:
    return Warning(
        "time-limit",
        f"the time limit of {plan.time_limit_s:g} s ended the run with fewer repetitions than "
        "planned",
        "raise `experiment.time_limit`, or ask for less",
    )


def _interrupted(folder: Path | None) -> InterruptedRunError:
    if folder is None:
        return InterruptedRunError("interrupted before the first repetition; nothing is kept")
    return InterruptedRunError(
        f"interrupted; everything that was made is given back, and {folder} keeps what is done",
        remedy="run the same command again to go on where it stopped",
    )
