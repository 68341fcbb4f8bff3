"""Load of cores by member: arithmetic on counters, and a reading of this machine."""

from __future__ import annotations

import itertools
import os
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from aferir.environments.base import Accounting
from aferir.measuring.sampling import sampled, summarise
from aferir.model.plan import EnvironmentSpec
from aferir.probes import load
from aferir.probes.load import Look, Used
from aferir.statistics.fairness import jain
from tests.unit.runner.fakes import FakeEnvironment

SPEC = EnvironmentSpec(name="e", kind="container", cpus=1, memory_bytes=2**28)
STAT = """cpu  10 0 10 80 0 0 0 0 0 0
cpu0 10 0 5 5 0 0 0 0 0 0
cpu1 0 0 5 75 10 0 0 10 0 0
intr 5
"""


def look(time_s: float, busy: tuple[int, int], **members: tuple[float, ...]) -> Look:
    cores = {cpu: (ticks, round(100 * time_s)) for cpu, ticks in enumerate(busy)}
    return Look(time_s, cores, {name: Used(sum(by), by) for name, by in members.items()})


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=20).filter(any), st.floats(1e-6, 1e6))
def test_fairness_lies_between_one_for_all_and_all_alike_whatever_the_unit(
    shares: list[float], unit: float
) -> None:
    index = jain(shares)
    assert index is not None
    assert 1 / len(shares) - 1e-9 <= index <= 1 + 1e-9
    assume(max(shares) * unit > 1e-300)  # smaller products lose digits, or vanish
    assert jain([share * unit for share in shares]) == pytest.approx(index, rel=1e-3)


def test_fairness_of_known_shares() -> None:
    assert jain([3, 3, 3]) == pytest.approx(1)
    assert jain([5, 0, 0, 0]) == pytest.approx(0.25)
    assert jain([1, 2]) == pytest.approx(0.9)
    assert jain([0, 0]) is None
    assert jain([]) is None
    with pytest.raises(ValueError, match="not shares"):
        jain([1, -1])


def test_steal_and_waiting_are_not_load() -> None:
    assert load.core_ticks(STAT) == {0: (15, 20), 1: (5, 100)}
    assert load.core_ticks("cpu0 1 2\ncpu1 a b c d e f g h\n") == {}


def test_what_a_member_used_is_read_from_whatever_says_most() -> None:
    by_core, unified, processes = load.MEMBER
    stat = "7 (qemu (x) y) S " + " ".join(map(str, range(4, 40)))
    assert load.used({by_core: "1000000000 500000000\n", unified: "usage_usec 1"}) == Used(
        1.5, (1.0, 0.5)
    )
    assert load.used({unified: "nr 1\nusage_usec 2500000\n"}) == Used(2.5)
    assert load.used({processes: stat}) == Used((14 + 15) * 0.01)
    assert load.used({}) is None


def test_a_cluster_used_what_its_nodes_used() -> None:
    assert load.together([Used(1, (1, 0)), Used(2, (0, 2))]) == Used(3, (1, 2))
    assert load.together([Used(1, (1, 0)), Used(2)]) == Used(3)
    assert load.together([Used(1), None]) is None


def test_shares_of_each_core_by_member_over_time_and_in_total() -> None:
    looks = [
        look(0, (0, 0), one=(0, 0), two=(0, 0)),
        look(1, (100, 50), one=(1.0, 0), two=(0, 0.5)),
        look(2, (200, 50), one=(1.5, 0), two=(0.5, 0.5)),
        look(2.02, (202, 50), one=(1.52, 0), two=(0.5, 0.5)),
    ]
    samples, series = summarise(looks, (0, 1), period_s=1)
    told = {(s.metric, s.label): (list(s.at), list(s.values)) for s in series}
    at, values_of_first = told["core_load_percent", "CPU 0"]
    assert at == [1, 2.02]
    assert values_of_first == [100, 100]
    assert told["core_load_percent", "CPU 1"][1] == [50, 0]
    assert told["cpu_use_cpus", "one"][1] == pytest.approx([1.0, 0.52 / 1.02])
    got_at, got = told["core_share_percent", "two"]
    assert got_at == ["CPU 0", "CPU 1"]
    assert got == pytest.approx([50 / 2.02, 50 / 2.02])
    values = {s.metric: s.value for s in samples}
    assert values["cpu_fairness"] == pytest.approx(jain([1.52, 1.0]))
    assert values["core_balance"] == pytest.approx(jain([100, 100 * 50 / 202]))


def test_nothing_is_looked_at_unless_asked() -> None:
    instance = FakeEnvironment("container").allocate(SPEC)
    with sampled(None, instance) as found:
        pass
    assert (found.samples, found.series) == ((), ())


def test_a_busy_core_of_this_machine_is_seen_to_be_busy_all_the_time() -> None:
    own = Accounting(processes=(os.getpid(),))
    instance = FakeEnvironment("container", accounting=own).allocate(SPEC)
    began_s = time.thread_time()
    with sampled(0.1, instance) as found:
        while time.thread_time() < began_s + 0.3:
            pass
    told = {(s.metric, s.label): s for s in found.series}
    used = told["cpu_use_cpus", "instance"]
    spun_s = sum(v * dt for v, dt in zip(used.values, steps(used.at), strict=True))
    assert spun_s > 0
    loads = [sum(s.values) for (metric, _), s in told.items() if metric == "core_load_percent"]
    assert max(loads) > 0


def steps(at: tuple[float | str, ...]) -> list[float]:
    times = [0.0, *(t for t in at if isinstance(t, float))]
    return [after - before for before, after in itertools.pairwise(times)]
