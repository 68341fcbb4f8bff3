"""Steps of Dutra 2015 over two hosts with an sshd of their own, which have one kernel."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir.linux import process
from aferir.store import Run, open_run
from tests.integration import real_hosts
from tests.integration.real_hosts import Lab

pytestmark = pytest.mark.integration
EXPERIMENT = """
[experiment]
name = "studies"
baseline = "both"
warmup = 0
[stop]
repetitions = 1
{hosts}
[[environment]]
name = "both"
kind = "native"
host = "a,b"
cpus = 1
{workloads}
"""
VIEWERS = """
[[workload]]
name = "load"
program = "elastic-load"
viewers = 3
interval = 0.1
video = 4
content = "random-bytes"
"""
OCEAN = """
[[workload]]
name = "ocean"
program = "ocean"
mpi = "openmpi"
processes = 2
scale = 64
steps = 2
rounds = 1
ntp_period_us = 20_000
[factors]
daemon = ["own", "chronyd"]
"""
CLOCKS = """
[[workload]]
name = "clocks"
program = "mpi-clock"
processes = 2
stamps = 1000
[factors]
mpi = ["openmpi", "mpich"]
"""
RULE = """
[[workload]]
name = "rule"
program = "clock"
study = "rule"
runs = 3
"""
SIMULATED = """
[[workload]]
name = "capacity"
program = "elastic-capacity"
instances = 2
rate_mbit = 250
"""


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with real_hosts.farm(tmp_path_factory, "a", "b") as made:
        yield made


def started(farm: Lab, folder: Path, workloads: str, *words: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a run of these workloads over both hosts."""
    hosts = [f"[[host]]\nname = '{n}'\nreach = \"{farm.reach(n)}\"\n" for n in "ab"]
    file = folder / "studies.toml"
    text = EXPERIMENT.format(hosts="".join(hosts), workloads=workloads)
    file.write_text(text, encoding="utf-8")
    line = [sys.executable, "-m", "aferir", "run", str(file), "--runs", str(folder / "runs")]
    child = process.start([*line, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = child.communicate()
    return child.returncode, out, err


def measured(farm: Lab, folder: Path, workloads: str) -> Run:
    code, out, err = started(farm, folder, workloads, "--json")
    assert code == 0, err
    cells = json.loads(out)["evaluation"]["cells"]
    assert [(cell["cell"], cell["failures"]) for cell in cells if cell["failures"]] == [], err
    (run,) = (folder / "runs").iterdir()
    return open_run(run)


def test_viewers_are_on_the_other_host(farm: Lab, tmp_path: Path) -> None:
    run = measured(farm, tmp_path, VIEWERS)
    (found,) = (record for record in run.records if record.cell == "both/load")
    doubts = {warning.code: warning.message for warning in found.warnings}
    assert doubts["viewers-on-the-servers-machine"].startswith("b and ")
    assert "all_cores_load_percent" in {series.metric for series in found.series}


def test_what_is_simulated_is_refused_over_hosts(farm: Lab, tmp_path: Path) -> None:
    code, _, err = started(farm, tmp_path, SIMULATED, "--check")
    assert code == 2
    assert "workload[1].instances" in err
    assert "workload[1].rate_mbit" in err


def test_ocean_has_a_daemon_on_each_host(farm: Lab, tmp_path: Path) -> None:
    """The clock of this machine is left alone, as both hosts have it."""
    run = measured(farm, tmp_path, OCEAN)
    found = {one.factors["daemon"]: one for one in run.records if one.factors}
    doubts = {name: {w.code for w in one.warnings} for name, one in found.items()}
    assert "one-machine" in doubts["own"] & doubts["chronyd"]
    assert "chronyd-measured" in doubts["chronyd"] - doubts["own"]
    figures = {name: {s.metric: s.value for s in one.samples} for name, one in found.items()}
    assert figures["own"]["ntp_like_messages"] > 0  # chronyd may have no time for one


def test_clocks_of_two_hosts_have_bounds_but_no_errors(farm: Lab, tmp_path: Path) -> None:
    run = measured(farm, tmp_path, RULE + CLOCKS)
    (rule,) = (one for one in run.records if one.cell == "both/rule")
    figures = {sample.metric: sample.value for sample in rule.samples}
    assert min(figures["error_bound_mean_s"], figures["round_trip_least_s"]) > 0
    assert figures["looks_unanswered"] < 3
    assert {series.label for series in rule.series if series.along == "look"} == {"b"}
    found = {one.factors["mpi"]: one for one in run.records if one.factors}
    assert found.keys() == {"openmpi", "mpich"}
    for one in found.values():
        figures = {sample.metric: sample.value for sample in one.samples}
        assert figures["error_bound_s"] > 0
        assert figures["exchanges"] > 0
        assert "error_s" not in figures
