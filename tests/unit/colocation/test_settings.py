"""Pure functions of the actuators: admission, differences of settings, files to write."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.colocation import admission, attributes, batch, remembered, schedules
from aferir.colocation.attributes import Attributes, Found
from aferir.colocation.remembered import Remembered
from aferir.colocation.settings import Batch, Schedule, Settings

_UNIT = 1 << 20


def _deadline(runtime_s: float, period_s: float) -> Schedule:
    return Schedule(policy="deadline", runtime_s=runtime_s, period_s=period_s)


_schedules = st.builds(
    _deadline, st.floats(0, 10, allow_nan=False), st.floats(1e-6, 10, allow_nan=False)
) | st.builds(lambda nice: Schedule(nice=nice), st.integers(-20, 19))
_wishes = st.dictionaries(st.integers(1, 4_000_000), _schedules, max_size=40)


def _kernel_units(schedules: dict[int, Schedule]) -> int:
    """to_ratio() of the kernel: runtime << 20 / period, whole."""
    asked = [attributes.of(s) for s in schedules.values() if s.policy == "deadline"]
    return sum(_UNIT * own.runtime_ns // own.period_ns for own in asked)


@given(_wishes, st.floats(0, 64, allow_nan=False))
def test_the_plan_never_exceeds_what_the_kernel_admits(
    wishes: dict[int, Schedule], free_cpus: float
) -> None:
    admitted = admission.admit(wishes, free_cpus)
    assert _kernel_units(admitted) <= int(free_cpus * _UNIT)
    assert admitted.keys() == wishes.keys()


@given(_wishes, st.floats(0, 64, allow_nan=False))
def test_every_admitted_deadline_is_one_the_kernel_takes(
    wishes: dict[int, Schedule], free_cpus: float
) -> None:
    for schedule in admission.admit(wishes, free_cpus).values():
        if schedule.policy == "deadline":
            own = attributes.of(schedule)
            assert attributes.LEAST_RUNTIME_NS <= own.runtime_ns <= own.deadline_ns
            assert own.deadline_ns == own.period_ns
            assert 100_000 <= own.period_ns <= round(admission.PERIODS_S[1] * 1e9)


@given(
    st.dictionaries(
        st.integers(1, 99),
        st.builds(_deadline, st.floats(0.001, 0.05), st.floats(0.05, 1.0)),
        min_size=1,
    )
)
def test_runtimes_are_scaled_by_one_factor(wishes: dict[int, Schedule]) -> None:
    free = 0.5 * admission.reserved_cpus(wishes) + 1e-4
    admitted = admission.admit(wishes, free)
    factors = [admitted[tid].runtime_s / wishes[tid].runtime_s for tid in wishes]
    assert max(factors) - min(factors) < 1e-9
    assert abs(factors[0] - 0.5) < 1e-6
    assert all(admitted[tid].period_s == wishes[tid].period_s for tid in wishes)


def test_what_fits_stays_as_it_is_wanted() -> None:
    wishes = {1: _deadline(0.01, 0.05), 2: Schedule(policy="fifo", priority=5)}
    assert admission.admit(wishes, 1.8) == wishes


def test_without_any_room_a_thread_is_fair_and_first() -> None:
    assert admission.admit({1: _deadline(0.01, 0.05)}, 0.0) == {1: Schedule(nice=-20)}


def test_the_kernels_account_is_read() -> None:
    text = "dl_rq[0]:\n  .dl_bw->bw                     : 996147\n  .dl_bw->total_bw  : 104856\n"
    account = admission.parse_bandwidth(text)
    assert account is not None
    assert round(account.free_cpus(2), 3) == 1.8
    below = admission.parse_bandwidth(text.replace("104856", "-112004"))
    assert below is not None
    assert below.free_cpus(2) == 0
    assert admission.parse_bandwidth("nothing of the kind") is None


def test_a_thread_that_gives_back_is_changed_before_one_that_takes() -> None:
    now = {1: _deadline(0.04, 0.05), 2: _deadline(0.01, 0.05), 3: None, 4: Schedule(nice=-5)}
    want = {2: _deadline(0.03, 0.05), 1: _deadline(0.02, 0.05), 3: None, 4: Schedule(nice=-5)}
    assert [tid for tid, _ in schedules.differing(now, want)] == [1, 2]


def test_a_thread_not_named_is_as_the_service_and_else_as_found() -> None:
    own = _deadline(0.01, 0.05)
    settings = Settings(threads={1: own}, service=Schedule(nice=-5))
    assert schedules.per_thread(settings, {1: 1, 2: 1}) == {1: own, 2: Schedule(nice=-5)}
    assert schedules.per_thread(Settings(), {1: 1}) == {1: None}


def test_what_a_thread_starts_does_not_inherit_a_deadline() -> None:
    own = attributes.of(
        Schedule(policy="deadline", runtime_s=0.01, period_s=0.05, reclaim=True, nice=5)
    )
    assert own == Attributes(
        policy=6,
        flags=attributes.RESET_ON_FORK | attributes.RECLAIM,
        runtime_ns=10_000_000,
        deadline_ns=50_000_000,
        period_ns=50_000_000,
    )


_V1 = batch.Group("x", {name: Path("/x") for name in ("cpu", "cpuacct", "cpuset", "freezer")})
_V2 = batch.Group("x", {"unified": Path("/x")})


def test_files_of_both_versions_say_the_same() -> None:
    want = Batch(weight=50, quota_cpus=0.5, threads=1)
    assert batch.writes(Batch(), want, _V1, (0, 1)) == [
        ("cpu", "cpu.shares", "512"),
        ("cpu", "cpu.cfs_period_us", "10000"),
        ("cpu", "cpu.cfs_quota_us", "5000"),
        ("cpuset", "cpuset.cpus", "0"),
    ]
    assert batch.writes(Batch(), want, _V2, (0, 1)) == [
        ("unified", "cpu.weight", "50"),
        ("unified", "cpu.max", "5000 10000"),
    ]


def test_an_idle_group_gets_its_weight_only_once_it_is_idle_no_more() -> None:
    """The kernel refuses a weight while cpu.idle is 1."""
    idle = Batch(idle=True, weight=30)
    assert batch.writes(Batch(), idle, _V2, (0,)) == [("unified", "cpu.idle", "1")]
    assert batch.writes(idle, Batch(weight=30), _V2, (0,)) == [
        ("unified", "cpu.idle", "0"),
        ("unified", "cpu.weight", "30"),
    ]


def test_only_what_differs_is_written() -> None:
    assert batch.writes(Batch(weight=7), Batch(weight=7, nice=3), _V1, (0, 1)) == []


def test_cpus_that_are_not_here_are_no_reason_to_take_all_away() -> None:
    assert batch.writes(Batch(), Batch(cpus=(8, 9)), _V1, (0, 1)) == []


_FIRST = Found(pid=7, tid=7, started=1, attributes=Attributes(), cpus=(0, 1))


def test_a_thread_started_meanwhile_goes_back_to_what_its_creator_was() -> None:
    ours = Remembered(id="x", nices=(5,), masks=((0,),), policies=(attributes.IDLE,))
    late = Found(
        pid=7, tid=9, started=4, attributes=Attributes(nice=5, policy=attributes.IDLE), cpus=(0,)
    )
    back = remembered.inherited(late, ours, _FIRST)
    assert (back.attributes, back.cpus) == (Attributes(), (0, 1))
    assert back.tid == 9


def test_what_a_thread_chose_itself_is_left_to_it() -> None:
    ours = Remembered(id="x", nices=(5,), masks=((0,),))
    own = msgspec.structs.replace(_FIRST, tid=9, attributes=Attributes(nice=7), cpus=(1,))
    assert remembered.inherited(own, ours, _FIRST) == own


def test_a_thread_that_was_there_before_has_inherited_nothing() -> None:
    ours = Remembered(id="x", since=5, nices=(0,), policies=(attributes.OTHER,))
    first = msgspec.structs.replace(_FIRST, attributes=Attributes(nice=10))
    before, after = (msgspec.structs.replace(_FIRST, tid=9, started=when) for when in (4, 5))
    assert remembered.inherited(before, ours, first) == before
    assert remembered.inherited(after, ours, first).attributes.nice == 10


@pytest.mark.parametrize(
    ("first", "started"),
    [
        (Attributes(nice=10), Attributes(nice=10)),
        (Attributes(nice=-5), Attributes(nice=-5)),
        (Attributes(nice=-5, flags=attributes.RESET_ON_FORK), Attributes()),
        (Attributes(policy=attributes.FIFO, priority=3),) * 2,
        (
            Attributes(policy=attributes.FIFO, priority=3, flags=attributes.RESET_ON_FORK),
            Attributes(),
        ),
        (Attributes(policy=attributes.DEADLINE, runtime_ns=2_000_000), Attributes()),
        (Attributes(policy=attributes.BATCH, nice=3),) * 2,
    ],
)
def test_a_thread_goes_back_to_what_its_creator_would_have_started(
    first: Attributes, started: Attributes
) -> None:
    ours = Remembered(id="x", nices=(0,), policies=(attributes.OTHER,))
    late = msgspec.structs.replace(_FIRST, tid=9)
    creator = msgspec.structs.replace(_FIRST, attributes=first)
    assert remembered.inherited(late, ours, creator).attributes == started
