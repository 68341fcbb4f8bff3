"""Short runs of each study of clocks on this machine."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from statistics import median

import pytest

from aferir.clock.program import CLOCK
from aferir.errors import MissingError
from aferir.linux import process, undo
from aferir.model.plan import Parameter
from aferir.model.record import Sample, Series, Warning
from tests.unit.programs.taking import command_of, wrong_with

pytestmark = pytest.mark.integration
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces take root")
needs_two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="takes two cores")
AT_ONCE = ("chrt", "--fifo", "1")
"""Before whatever else is on the machine, of which there may be any."""


class Figures:
    """Figures of a study, by name."""

    def __init__(self, figures: Sequence[Sample | Series | Warning]) -> None:
        self.samples = {one.metric: one.value for one in figures if isinstance(one, Sample)}
        self.series = {
            (one.metric, one.label): dict(zip(one.at, one.values, strict=True))
            for one in figures
            if isinstance(one, Series)
        }
        self.doubts = {one.code for one in figures if isinstance(one, Warning)}


def study(
    name: str, *, first: Sequence[str] = (), mark: str = "", **parameters: Parameter
) -> Figures:
    """Carry out a study, whose processes have that mark in their environment."""
    chosen: Mapping[str, Parameter] = {"study": name, **parameters}
    assert wrong_with(CLOCK, chosen) == []
    try:
        command = command_of(CLOCK, chosen)
    except MissingError as error:
        pytest.skip(error.message)
    line = [*first, str(command.program), *command.arguments]
    marked = {undo.MARK: mark} if mark else None
    return Figures(CLOCK.parse(process.run(line, environment=marked).stdout))


@pytest.mark.parametrize("movement", ["pinned", "migrated"])
def test_strict_clocks_never_repeat_a_reading_and_a_microsecond_clock_does(movement: str) -> None:
    found = study("ecp", movement=movement, runs=10)
    violations = found.series["violations", ""]
    assert found.samples["violations_of_rvec"] == 0
    assert found.samples["reads_of_each_clock"] > 10 * 5000
    assert violations["rvec thread"] == violations["rvec process"] == violations["rvec core"] == 0
    # Readings 30 ns apart by a clock of microseconds: nearly all are equal to the one before.
    assert violations["gettimeofday"] > 10 * 5000 / 2
    assert found.series["smallest_step_s", ""]["gettimeofday"] <= 0
    assert found.series["smallest_step_s", ""]["rvec thread"] > 0
    assert set(found.series["block_half_width_s", "99.9 % interval"]) == set(violations)


@needs_two_cores
def test_strict_clocks_never_go_back_between_cores() -> None:
    found = study("ecp", movement="handed-over", runs=1, blocks=400)
    assert found.samples["violations_of_rvec"] == 0
    assert "rvec thread" not in found.series["violations", ""]
    assert found.series["smallest_step_s", ""]["rdtscp"] > 0


def test_every_clock_has_its_cost() -> None:
    found = study("cost", runs=50)
    costs = found.series["read_s", ""]
    assert {"CLOCK_THREAD_CPUTIME_ID", "CLOCK_MONOTONIC"} < costs.keys()
    assert min(costs.values()) > 0
    assert found.samples["read_of_rvec_s"] == costs["rvec thread"]
    assert found.samples["duration_s"] == pytest.approx(sum(costs.values()), rel=1e-6)


def test_stability_says_what_it_compared_with() -> None:
    found = study("stability", seconds=1)
    raw = "RAW, same oscillator"
    assert (found.samples["external_references"] == 0) == ("no-external-reference" in found.doubts)
    assert math.isfinite(found.samples["rate_difference_ppb"])
    assert len(found.series["difference_s", raw]) > 1
    assert min(found.series["allan_deviation", raw].values()) > 0
    assert all(map(math.isfinite, found.series["loop_difference_s", raw].values()))
    assert min(found.series["loop_s", raw].values()) > 0


@needs_root
@pytest.mark.parametrize("server", ["chronyd", "own"])
def test_ntp_corrects_what_was_injected(server: str) -> None:
    if server == "chronyd" and shutil.which("chronyd", path="/usr/sbin:/usr/bin") is None:
        pytest.skip("chronyd is not installed")
    mark = uuid.uuid4().hex
    asked: Mapping[str, Parameter] = {"queries": 8, "interval_s": 0.2, "rate_ppm": 1000}
    found = study("ntp", first=AT_ONCE, mark=mark, server=server, **asked)
    corrections = found.series["correction_s", ""]
    # Its clock goes ahead by 200 us each time, and is put back; but not before the first query,
    # which is left out.
    assert list(corrections) == [*range(2, 9)]
    assert median(corrections.values()) < 0
    assert found.samples["steps_back"] >= 4
    assert undo.marked(mark) == []


@needs_root
def test_messages_stamped_by_rgap_arrive_after_they_were_sent() -> None:
    runs = [study("order", first=AT_ONCE, messages=400, seconds=1) for _ in range(3)]
    assert [found.samples["messages"] for found in runs] == [400] * 3
    counts = [found.series["received_before_sent", ""] for found in runs]
    # One late answer may leave an NTP-like clock as far off as it was.
    early = {clock: median(count[clock] for count in counts) for clock in counts[0]}
    assert early["not synchronised"] > 0
    assert early["RGAP"] <= early["NTP-like"] <= early["not synchronised"]


@needs_root
@pytest.mark.parametrize("clients", [1, 2])
def test_each_client_of_one_server_looks_until_the_rule_holds(clients: int) -> None:
    found = study(
        "rule",
        runs=3,
        discard=7,
        deviation_s=1e-3,
        seconds=3600.0,
        clients=clients,
        stamps="program",
    )
    labels = {f"client {number}" for number in range(1, clients + 1)}
    assert {label for metric, label in found.series if metric == "look_error_s"} == labels
    assert found.samples["looks_unanswered"] == 0
    for label in labels:
        # One more says when the last one was sent.
        assert min(found.series["look_exchanges", label].values()) >= 7 + 20 + 1


def test_no_change_of_the_counters_rate_makes_rvec_go_back() -> None:
    found = study("rate", runs=4, interval_s=0.05, ratio=0.5)
    assert found.samples["rate_changes"] == 4
    assert found.samples["violations_of_rvec"] == 0
    errors = {label: list(of.values()) for (metric, label), of in found.series.items()}
    # At half of the rate that it takes for all time, half of each interval is lost; at the first
    # rate nothing is.
    assert errors["one rate"][0] < -0.02
    assert abs(errors["one rate"][1]) < 1e-6
    assert set(errors) == {"one rate", "rvec that notices", "rvec that is told"}


def test_time_that_was_taken_from_the_program_shows_in_its_quanta() -> None:
    found = study("noise", quanta=300)
    assert found.samples["quantum_least_s"] > 0
    assert 0 <= found.samples["noise_share"] < 1
    exceeded = list(found.series["exceeded_s", ""].values())
    assert exceeded == sorted(exceeded)
    assert exceeded[0] > 0


@needs_root
def test_a_planted_beat_is_found_at_its_rate_and_none_without() -> None:
    """At a real-time priority, at which nothing disturbs but who has reserved a processor.

    Tests beside this one do so, some with that very period: one of several attempts is undisturbed.
    """

    def is_told_apart() -> bool:
        quiet = study("noise", quanta=1500, priority="realtime")
        planted = study("noise", quanta=1500, priority="realtime", noise_period_s=0.01)
        # One quantum of ten has more to wait.
        assert planted.series["exceeded_s", ""][0.05] > 0
        return (
            planted.samples["beat_hz"] == pytest.approx(100, rel=0.01)
            and planted.samples["beat_share"] > quiet.samples["beat_share"]
            and quiet.samples["beat_hz"] != pytest.approx(100, rel=0.05)
        )

    assert any(is_told_apart() for _ in range(5))


def test_what_is_not_possible_is_said() -> None:
    try:
        program = str(command_of(CLOCK, {"study": "cost"}).program)
    except MissingError as error:
        pytest.skip(error.message)
    for wrong in (["cost", "--runs", "0"], ["ecp", "--movement", "sideways"], ["nothing"], []):
        done = subprocess.run([program, *wrong], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "usage:" in done.stderr
