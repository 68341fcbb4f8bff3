"""Invariants of the policy on random histories of a service, a batch and other processes."""

from __future__ import annotations

import math
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from aferir.colocation.policies.aferir import Memory, aferir
from aferir.colocation.policies.aferir.share import settling_s
from aferir.colocation.policies.aferir.view import Mode
from aferir.colocation.policies.parameters import Parameters
from aferir.colocation.settings import Settings, State, ThreadUse
from tests.unit.colocation.states import SLA, latency, state

CHOSEN = Parameters()
SHARE = st.floats(min_value=0.0, max_value=1.0)
LOADS = st.fixed_dictionaries(
    {
        "quantile": st.floats(min_value=0.01, max_value=3.0),
        "service": SHARE,
        "batch": SHARE,
        "others": SHARE,
        "occupied": SHARE,
        "seconds": st.sampled_from([0.1, 0.3, 1.0, 3.0, 12.0]),
    }
)
MACHINES = st.fixed_dictionaries(
    {
        "cores": st.sampled_from([1, 2, 4]),
        "pool": st.sampled_from([1, 2, 4, 40]),
        "rate": st.sampled_from([20.0, 500.0, 2000.0]),
    }
)
HISTORIES = st.lists(LOADS, min_size=1, max_size=10)


def seen(machine: dict[str, Any], load: dict[str, Any], time_s: float, now: Settings) -> State:
    """A state of that load; the CPUs are divided in the order service, others, batch."""
    cores = machine["cores"]
    service = load["service"] * cores
    others = load["others"] * (cores - service)
    batch = load["batch"] * (cores - service - others)
    each = service / machine["pool"]
    threads = tuple(ThreadUse(tid=k, name="t", cpus=each) for k in range(1, machine["pool"] + 1))
    return state(
        time_s=time_s,
        cores=cores,
        reservable_cpus=0.9 * cores,
        threads=threads,
        rate=machine["rate"],
        service_cpus=service,
        batch_cpus=batch,
        idle_cpus=cores - service - others - batch,
        occupied=load["occupied"],
        latency=latency(load["quantile"] * SLA.bound_s),
        now=now,
    )


def lived(
    machine: dict[str, Any], history: list[dict[str, Any]]
) -> list[tuple[State, Settings, Memory]]:
    """Every state with the decision and the memory that followed."""
    policy = aferir(CHOSEN)
    now, memory, time_s, made = Settings(), policy.begin, 100.0, []
    for load in history:
        for _ in range(round(load["seconds"] * 10)):
            observed = seen(machine, load, time_s, now)
            now, memory = policy.decide(observed, memory)
            made.append((observed, now, memory))
            time_s += 0.1
    return made


def limit(now: Settings, cores: int) -> float:
    """CPUs that the batch may use by its quota."""
    quota = now.batch.quota_cpus
    return 0.0 if now.batch.suspended else cores if quota is None else quota


def rank(now: Settings, memory: Memory) -> int:
    """Weight of the batch against the service; 0 if it only gets what the service leaves."""
    outranked = memory.modes.mode in (Mode.RESERVED, Mode.CONTENDED)
    return 0 if now.batch.idle or outranked else now.batch.weight


@settings(max_examples=60, deadline=None)
@given(MACHINES, HISTORIES)
def test_two_cuts_of_the_share_are_at_least_the_settling_time_apart(
    machine: dict[str, Any], history: list[dict[str, Any]]
) -> None:
    last_s, before = -math.inf, 1.0
    for observed, _, memory in lived(machine, history):
        if memory.share.share < before:
            assert memory.signals is not None
            wait_s = settling_s(observed, memory.signals, CHOSEN)
            assert observed.time_s - last_s >= wait_s - 1e-6
            last_s = observed.time_s
        before = memory.share.share


@settings(max_examples=60, deadline=None)
@given(MACHINES, HISTORIES)
def test_every_hold_bar_and_trial_ends(
    machine: dict[str, Any], history: list[dict[str, Any]]
) -> None:
    for observed, _, memory in lived(machine, history):
        assert memory.signals is not None
        holds = (memory.signals.lately, memory.signals.company, memory.signals.beset)
        assert all(one.until_s <= observed.time_s + CHOSEN.hold_s for one in holds)
        bars = [track.back_off.until_s for track in memory.modes.tracks.values()]
        bars.append(memory.share.innocent_until_s)
        assert all(one <= observed.time_s + CHOSEN.longest_bar_s + 1e-6 for one in bars)
        if memory.share.trial is not None:
            assert memory.share.trial.seconds < 3 * CHOSEN.patience_s


@settings(max_examples=60, deadline=None)
@given(MACHINES, HISTORIES)
def test_the_weight_never_rises_while_the_quantile_is_above_its_threshold(
    machine: dict[str, Any], history: list[dict[str, Any]]
) -> None:
    before = 0
    for observed, _, memory in lived(machine, history):
        assert observed.latency is not None
        if observed.latency.quantile_s > CHOSEN.far * SLA.bound_s:
            assert memory.weight.step <= before
        before = memory.weight.step


@settings(max_examples=150, deadline=None)
@given(MACHINES, HISTORIES, LOADS, st.sampled_from(["quantile", "service", "occupied"]), SHARE)
def test_more_load_never_gives_the_batch_more(
    machine: dict[str, Any],
    history: list[dict[str, Any]],
    less: dict[str, Any],
    raised: str,
    by: float,
) -> None:
    observed, now, memory = lived(machine, history)[-1]
    most = 3.0 if raised == "quantile" else 1.0
    more = {**less, raised: less[raised] + by * (most - less[raised])}
    decide, found = aferir(CHOSEN).decide, []
    for load in (less, more):
        state_ = seen(machine, load, observed.time_s + 0.1, now)
        if raised == "service":  # the same rest for both, of which the batch uses the same
            used = observed.batch_cpus
            idle = max(machine["cores"] - state_.service_cpus - used, 0.0)
            state_ = msgspec.structs.replace(state_, batch_cpus=used, idle_cpus=idle)
        made, after = decide(state_, memory)
        found.append((limit(made, machine["cores"]), rank(made, after), after))
    (limit_less, rank_less, _), (limit_more, rank_more, after_more) = found
    if after_more.share.innocent_until_s <= observed.time_s:
        assert limit_more <= limit_less
    assert rank_more <= rank_less


@settings(max_examples=40, deadline=None)
@given(MACHINES, HISTORIES)
def test_every_field_has_one_owner(machine: dict[str, Any], history: list[dict[str, Any]]) -> None:
    """Quota and suspension follow the share alone, and the CPUs the mode alone."""
    for _, now, memory in lived(machine, history):
        share = memory.share.share
        assert now.batch.suspended is (share <= 0)
        assert (now.batch.quota_cpus is None) is (share <= 0 or share >= 1)
        assert bool(now.batch.cpus) is (memory.modes.mode is Mode.APART)
        if memory.modes.mode is Mode.WEIGHTED:
            assert now.batch.weight == memory.weight.value


@settings(max_examples=20, deadline=None)
@given(MACHINES, HISTORIES)
def test_the_same_history_gives_the_same_decisions(
    machine: dict[str, Any], history: list[dict[str, Any]]
) -> None:
    assert lived(machine, history) == lived(machine, history)
