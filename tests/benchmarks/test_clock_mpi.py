"""Figures of the clock bench from MPI jobs; the jobs themselves run in the native tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.errors import ProgramError
from aferir.linux.namespace import Host, Star
from benchmarks.clock import mpi
from benchmarks.clock.mpi import Method, OneHost, judge_hosts, judge_one_host

SAID = '{"ranks": 2, "global": true, "spread_ns": 1.0, "read_ns": 24.4}\n'
REPORTED = (
    'aferir-mpi: {"rank": 0, "added_ns": 237072, "added_cpu_ns": 51000}\n'
    'aferir-mpi: {"rank": 1, "added_ns": 481774, "added_cpu_ns": 48000}'
)
HOSTS = (
    '{"method": "aferir", "hosts": 4, "n": 30, "duration_median_us": 396.1,'
    ' "error_median_ns": 203, "outside_doubt": 0}\n'
    '{"method": "hca3-offset-20", "hosts": 4, "n": 30, "duration_median_us": 1412.0,'
    ' "error_median_ns": 2739}\n'
)


def job(ranks: int = 2, added: float = 1e-4, spread: float = 1e-9, sees: bool = True) -> OneHost:
    return OneHost(
        ranks=ranks,
        added_cpu_s=added / 4,
        added_s=added,
        added_median_s=added / 2,
        spread_s=spread,
        read_s=24e-9,
        is_global=sees,
    )


def methods(duration: float = 400.0, error: float = 200.0, outside: int = 0) -> dict[str, Method]:
    ours = Method("aferir", 30, duration, error, outside)
    return {"aferir": ours, "hca3-offset-20": Method("hca3-offset-20", 30, 1000.0, 2000.0)}


@pytest.mark.parametrize("joined", [REPORTED, REPORTED.replace("\n", ""), "warning\n" + REPORTED])
def test_the_slowest_rank_counts_however_lines_are_put_together(joined: str) -> None:
    found = mpi.parse_one_host(SAID, joined)
    assert found.added_s == pytest.approx(481_774e-9)
    assert found.added_median_s == pytest.approx(359_423e-9)
    assert found.added_cpu_s == pytest.approx(51e-6)
    assert (found.ranks, found.is_global) == (2, True)
    assert found.spread_s == pytest.approx(1e-9)


@pytest.mark.parametrize(("out", "err"), [("", REPORTED), (SAID, ""), ("{}", REPORTED)])
def test_what_cannot_be_read_is_an_error(out: str, err: str) -> None:
    with pytest.raises(ProgramError):
        mpi.parse_one_host(out, err)


def test_lines_of_both_methods_are_parsed_and_both_are_required() -> None:
    found = mpi.parse_methods("a warning\n" + HOSTS)
    assert found["hca3-offset-20"].error_median_ns == 2739
    for text in ("", HOSTS.splitlines()[0], '{"method": 3}'):
        with pytest.raises(ProgramError):
            mpi.parse_methods(text)


def test_one_host_is_judged_by_medians_of_each_number_of_ranks() -> None:
    added, error = judge_one_host("mpich", [job(), job(added=9e-3), job(), job(32, 2.9e-4)])
    assert added.value == pytest.approx(2.9e-4)
    assert (added.holds, error.holds, added.n) == (True, True, 4)
    assert "290 us with 32 ranks (145; time of a core 72)" in added.note
    assert judge_one_host("mpich", [job(added=3.1e-4)])[0].holds is False
    assert judge_one_host("mpich", [job(spread=25e-9)])[1].holds is False
    assert judge_one_host("mpich", [job(sees=False)])[1].holds is False


def test_hosts_are_judged_by_the_median_ratios_of_duration_and_error() -> None:
    duration, error = judge_hosts(4, [methods(), methods(), methods(duration=9000.0)])
    assert duration.value == pytest.approx(0.4)
    assert error.value == pytest.approx(0.1)
    assert (duration.holds, error.holds) == (True, True)
    assert judge_hosts(4, [methods(duration=1001.0)])[0].holds is False
    assert judge_hosts(4, [methods(error=2001.0)])[1].holds is False
    assert not any(figure.holds for figure in judge_hosts(4, [methods(outside=1)]))


def test_a_job_over_hosts_names_their_addresses_and_the_network() -> None:
    hosts = tuple(Host(f"aferir-x-{k}", f"10.0.1.{k}") for k in range(1, 9))
    made = Star(hosts, "aferir-x-bridge", "eth0", Path("/state"), "x")
    words = mpi.across(made, Path("/state/agent"), "/bin/mpirun", 4)
    assert words[:3] == ["/state/agent", "10.0.1.1", "/bin/mpirun"]
    assert "10.0.1.1:1,10.0.1.2:1,10.0.1.3:1,10.0.1.4:1" in words
    assert words[words.index("btl_tcp_if_include") + 1] == "eth0"
    assert words[-2:] == ["-n", "4"]
