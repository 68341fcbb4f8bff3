"""Warnings about a whole run that a reader needs to interpret its figures. Pure functions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from aferir.machine.capabilities import OUT_OF_IT, UNLIKE_OTHERS
from aferir.model.plan import Plan
from aferir.model.provenance import TIME_LIMIT
from aferir.model.record import ALLOCATION, Record, Warning
from aferir.model.stamps import in_order
from aferir.model.units import format_duration
from aferir.runner.pool import of_user_kernel
from aferir.runner.preparation import warnings_of
from aferir.runner.rounds import Session
from aferir.runner.stopping import (
    MOST_FAILURES,
    History,
    given_up,
    is_absent,
    most_repetitions,
)

_LARGER_MACHINE = "do not set it beside figures of larger machines; there it runs as it is written"
_MOST_NAMED = 4
"""Largest number of cells that a warning names: a line of a terminal has room for no more."""


def doubts(session: Session, facts: Mapping[str, Any], *, in_time: bool) -> tuple[Warning, ...]:
    """Warnings about a finished run; `in_time` is False if the time limit cut it short."""
    plan = session.plan
    return (
        *warnings_of(plan, session.ready),
        *_kernels(plan, session.writer.records),
        *_skipped(session),
        *_given_up(session),
        *_own_group(session, facts),
        *_throttled(facts),
        *unlike_hosts(plan, facts),
        *out_of_order(session.writer.records),
        *(Warning("shrunk", text, _LARGER_MACHINE) for text in plan.shrunk),
        *(() if in_time else (_time_limit(session),)),
    )


def _kernels(plan: Plan, records: Sequence[Record]) -> tuple[Warning, ...]:
    """One warning for each user-space kernel, which names the environments that ran on it."""
    named: dict[str, list[str]] = {}
    ran = {record.environment for record in records if record.failure is None}
    for spec in plan.environments:
        for doubt in of_user_kernel(spec) if spec.name in ran else ():
            named.setdefault(f"{doubt.message}|{doubt.advice}", []).append(spec.name)
    return tuple(
        Warning("kernel-in-user-space", f"{', '.join(names)}: {message}", advice)
        for text, names in named.items()
        for message, _, advice in [text.partition("|")]
    )


def _skipped(session: Session) -> tuple[Warning, ...]:
    """One warning for each emulated environment in which some workloads were skipped."""
    history = History(session.plan.warmup, session.writer.records)
    slots = session.plan.warmup + session.plan.stop.maximum
    skipped: dict[str, list[str]] = {}
    for cell in session.plan.cells:
        if cell.workload.skip_emulated and history.emulated(cell.environment, slots):
            skipped.setdefault(cell.environment, []).append(cell.group)
    return tuple(
        Warning(
            "skipped-emulated",
            f"{name} is emulated in software and did not run {', '.join(groups)}",
            "run the experiment on a host with hardware virtualisation",
        )
        for name, groups in skipped.items()
    )


def _given_up(session: Session) -> tuple[Warning, ...]:
    """One warning for each reason for which cells were given up."""
    history = History(session.plan.warmup, session.writer.records)
    given: dict[str, list[str]] = {}
    for cell in session.plan.cells:
        if given_up(history, cell.id):
            given.setdefault(_absence(history.of(cell.id)[-1]), []).append(cell.id)
    return tuple(
        Warning(
            "given-up",
            _said_given_up(cells, absence),
            "see its failures, mend the cause and run the experiment anew",
        )
        for absence, cells in given.items()
    )


def _absence(last: Record) -> str:
    """Message about the program that an environment lacks; "" if there is one, which failed."""
    return last.failure.message if last.failure is not None and is_absent(last) else ""


def _said_given_up(cells: Sequence[str], absence: str) -> str:
    were = "was" if len(cells) == 1 else "were"
    if absence:
        return f"{_named(cells)} {were} given up: {absence}"
    return f"{_named(cells)} failed {MOST_FAILURES} times in a row and {were} given up"


def _own_group(session: Session, facts: Mapping[str, Any]) -> tuple[Warning, ...]:
    """Warn if a control group around aferir limits native programs, but not the other kinds."""
    group = facts.get("machine", {}).get("own_group", "")
    if not group or {kind.on_host for kind in session.kinds.values()} != {True, False}:
        return ()
    return (Warning("own-group", f"{UNLIKE_OTHERS} {group}", OUT_OF_IT),)


def _throttled(facts: Mapping[str, Any]) -> tuple[Warning, ...]:
    """Warn if a control group's CPU quota is below the number of CPUs that programs may run on."""
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


def unlike_hosts(plan: Plan, facts: Mapping[str, Any]) -> tuple[Warning, ...]:
    """Warnings if environments are compared that ran on different processors."""
    hosts: Mapping[str, Any] = facts.get("hosts", {})
    models: dict[str, list[str]] = {}
    used = dict.fromkeys(name for spec in plan.environments for name in spec.host.split(","))
    for name in used:
        machine = (hosts.get(name, {}) if name else facts).get("machine", {})
        if model := machine.get("cpu_model"):
            models.setdefault(model, []).append(name or "this host")
    if len(models) < 2:
        return ()
    said = "; ".join(f"{', '.join(names)}: {model}" for model, names in models.items())
    return (
        Warning(
            "hosts-differ",
            f"environments are on hosts with different processors ({said})",
            "read their ratios as of host and environment together, or compare those of one host",
        ),
    )


def out_of_order(records: Sequence[Record]) -> tuple[Warning, ...]:
    """Warn if clocks of hosts contradict the order in which programs ran, or cannot tell it.

    `records` are in the order in which programs ran. Two in a row on this host are not judged.
    """
    known = [
        (one.environment, one.began)
        for one in records
        if one.began is not None and one.workload != ALLOCATION
    ]
    orders = [
        (name, in_order(first, second))
        for (_, first), (name, second) in itertools.pairwise(known)
        if first.bound_ns or second.bound_ns  # the order on one clock is that clock's own
    ]
    found = []
    wrong = {name for name, order in orders if order is False}
    if wrong:
        found.append(
            Warning(
                "clock-stepped",
                f"by the clocks, a program of {', '.join(sorted(wrong))} began before the one that "
                "ran before it: a machine was suspended or moved during the run",
                "keep hosts and guests from suspending, and compare durations alone",
            )
        )
    if unknown := sum(order is None for _, order in orders):
        found.append(
            Warning(
                "order-unknown",
                f"{unknown} of {len(orders)} starts of programs are nearer to the one before than "
                "the clocks of their hosts are known",
                "read nothing into the order of events on these hosts",
            )
        )
    return tuple(found)


def _time_limit(session: Session) -> Warning:
    """Warning about a run that its time limit ended: how much of the plan was carried out."""
    plan, history = session.plan, session.history
    done: dict[str, int] = {}
    planned = 0
    for cell in plan.cells:
        most = most_repetitions(plan, history, cell, plan.warmup + plan.stop.maximum)
        if cell.id in session.left_out or not most:
            continue
        done[cell.id] = sum(not record.warmup for record in history.of(cell.id))
        planned += done[cell.id] if given_up(history, cell.id) else most
    missing = [name for name, count in done.items() if not count]
    limit = format_duration(round(plan.time_limit_s) or plan.time_limit_s)
    return Warning(
        TIME_LIMIT,
        f"the time limit of {limit} ended the run after "
        f"{sum(done.values())} of at most {planned} repetitions{_without(missing)}",
        "raise `experiment.time_limit`, or ask for less",
    )


def _without(cells: Sequence[str]) -> str:
    """Clause about cells that have no repetition at all; empty if there are none."""
    if not cells:
        return ""
    return f"; none is of {_named(cells)}"


def _named(cells: Sequence[str]) -> str:
    """Names of the first cells, and the number of the others."""
    named, more = cells[:_MOST_NAMED], len(cells) - _MOST_NAMED
    return ", ".join(named) + (f" and {more} other cells" if more > 0 else "")
