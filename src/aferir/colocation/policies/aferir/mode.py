"""Decides on the policy's mode, by the one table of modes.

The first row whose condition holds gives the next mode. A mode begins after its condition has held
for `patience_s`, or at once if it protects the service or other processes. A mode that did harm is
barred for a while.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from aferir.colocation.policies.aferir.timing import Span
from aferir.colocation.policies.aferir.view import Mode, Modes, Track, View

Condition = Callable[[View], bool]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table of modes."""

    mode: Mode
    begins: Condition
    stays: Condition | None = None
    """Condition for staying in the mode; None: the same as `begins`."""
    harms: Condition = lambda _: False
    """Whether the mode has done harm since it began; it is then left, and barred for a while."""
    at_once: bool = False
    """Whether the mode begins at once, since it protects the service or other processes."""
    why: str


def _apart(view: View) -> bool:
    signals, chosen = view.signals, view.chosen
    return (
        view.few
        and not signals.company.active
        and signals.quantile < chosen.near
        and signals.load < chosen.free * (view.state.cores - view.needs)
        and view.needs - signals.busy < chosen.headroom
        and view.state.occupied < chosen.full
    )


def _still_apart(view: View) -> bool:
    """Whether the batch stays on its own CPUs, for at most `hold_s`.

    It is released after that time, because confined to them it cannot show that it could use more.
    """
    soon = view.signals.time_s - view.before.since_s < view.chosen.hold_s
    alone = not view.signals.company.active
    return view.few and alone and soon and view.needs == view.before.own_cpus


def _apart_harms(view: View) -> bool:
    signals, chosen = view.signals, view.chosen
    return (
        signals.load > chosen.full * (view.state.cores - view.before.own_cpus)
        or view.state.occupied > chosen.full
        or math.inf > signals.quantile > (chosen.near + chosen.caution) / 2
    )


def _weighted(view: View) -> bool:
    signals, chosen = view.signals, view.chosen
    return (
        view.few
        and not signals.late
        and signals.quantile < chosen.far
        and view.fills < chosen.full
        and signals.idle >= chosen.least_share / 2 * view.state.cores
    )


def _still_weighted(view: View) -> bool:
    least = view.chosen.least_share / 4 * view.state.cores
    return view.few and (not view.lightest or view.signals.idle >= least)


def _others_count(view: View) -> bool:
    """Whether other processes are present with which the batch may share CPUs.

    False if they compete while reservations are possible: the service then comes first.
    """
    signals, wish = view.signals, view.chosen.batch_share
    present = signals.beset.active if wish is None else wish > 0 and signals.company.active
    return present and not (signals.beset.active and view.plan.shares)


def _shared(view: View) -> bool:
    far = max(view.signals.quantile, view.signals.ratio) < view.chosen.far
    return far and view.state.occupied < view.chosen.full and _others_count(view)


def _share_harms(view: View) -> bool:
    return view.over or view.signals.late or view.state.occupied > view.chosen.full


def _contended(view: View) -> bool:
    company = view.before.tracks.get(Mode.COMPANY, Track())
    barred = view.signals.time_s < company.back_off.until_s
    return view.signals.beset.active or (view.signals.company.active and barred)


def _leaves(view: View, most: float, stretch: float) -> bool:
    """Whether a service under SCHED_FIFO leaves other processes enough CPU time, soon enough.

    In an M/M/m queue with lambda requests per second, each of which takes 1 / mu of CPU time, all m
    CPUs are busy without a break for 1 / (m mu - lambda) on average. `stretch` times that mean is
    taken as the longest such time, and must be below `responsive_s`.
    """
    state, used = view.state, view.signals.used
    cores = state.service_cores or state.cores
    if view.plan.whole or not state.threads or state.batch_ended or state.reservable_cpus <= 0:
        return False
    rate = state.all_rate
    if rate <= 0 or view.signals.load >= most * cores or used >= cores:
        return False
    return stretch * used / rate / min(cores - used, cores / 2) < view.chosen.responsive_s


def _first(view: View) -> bool:
    middle = (view.chosen.free + view.chosen.full) / 2
    return not view.signals.late and _leaves(view, middle, view.chosen.stretch)


def _first_harms(view: View) -> bool:
    now = view.state.now.service
    return view.late or now is None or now.policy != "fifo"  # the kernel refused it


TABLE: tuple[Rule, ...] = (
    Rule(
        mode=Mode.APART,
        begins=_apart,
        stays=_still_apart,
        harms=_apart_harms,
        why="the service needs only the CPUs that the batch's few threads leave",
    ),
    Rule(
        mode=Mode.WEIGHTED,
        begins=_weighted,
        stays=_still_weighted,
        harms=lambda view: view.lightest and view.over,
        why="CPUs idle beside a batch of few threads, and the SLA is far",
    ),
    Rule(
        mode=Mode.SHARED,
        begins=_shared,
        stays=_others_count,
        harms=_share_harms,
        why="others use what they can get, and the SLA is far",
    ),
    Rule(
        mode=Mode.CONTENDED,
        begins=_contended,
        at_once=True,
        why="others compete for the CPUs, or held the service up",
    ),
    Rule(
        mode=Mode.COMPANY,
        begins=lambda view: view.signals.company.active,
        harms=lambda view: view.signals.late,
        at_once=True,
        why="others work a little, and may be whom the service works for",
    ),
    Rule(
        mode=Mode.RESERVED,
        begins=lambda view: view.plan.whole,
        harms=lambda view: view.late,
        why="each worker can have nearly a whole CPU",
    ),
    Rule(
        mode=Mode.FIRST,
        begins=_first,
        stays=lambda view: _leaves(view, view.chosen.full, view.chosen.free * view.chosen.stretch),
        harms=_first_harms,
        why="requests are short and leave some of the CPUs",
    ),
    Rule(mode=Mode.YIELD, begins=lambda _: True, at_once=True, why="nothing else fits"),
)
"""The modes in order of precedence; the last one always fits."""


def step(view: View) -> Modes:
    """Return the mode chosen by this decision, with the updated history of all modes."""
    before, chosen, now_s = view.before, view.chosen, view.signals.time_s
    tracks, found, harm = dict(before.tracks), TABLE[-1], ""
    for rule in reversed(TABLE):
        track, present = tracks.get(rule.mode, Track()), rule.mode is before.mode
        back_off = track.back_off
        if present and rule.harms(view):
            harm = f"the mode `{rule.mode.value}` brought {view.state.worst} near its SLA"
            well_s = now_s - before.since_s
            back_off = back_off.after_harm(now_s, well_s, chosen.hold_s, chosen.longest_bar_s)
        holds = (rule.stays if present and rule.stays else rule.begins)(view)
        ready = Span() if present and rule.stays else track.ready.observe(now_s, holds=holds)
        tracks[rule.mode] = Track(ready, back_off)
        lasted = rule.at_once or present or now_s - ready.since_s >= chosen.patience_s
        if holds and lasted and now_s >= back_off.until_s:
            found = rule
    if found.mode is before.mode:
        late = before.late.observe(now_s, chosen.hold_s, cause=view.late)
        return msgspec.structs.replace(before, late=late, tracks=tracks)
    own_cpus = view.needs if found.mode is Mode.APART else 0
    why = harm or found.why
    return Modes(mode=found.mode, since_s=now_s, why=why, own_cpus=own_cpus, tracks=tracks)
