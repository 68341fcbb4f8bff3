"""ElasticMovie's steps on simulated hosts, and failures there."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from aferir.clouds import simulated
from aferir.elastic.node import template
from aferir.elastic.video import Video, make
from aferir.image import userland
from aferir.linux import journal, namespace
from aferir.model.record import GUESTS_EMULATED
from benchmarks.elastic.faults import sequences
from tests.integration.support import first_answer, leftovers, own_state
from tests.waiting import eventually


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    for finding in simulated.check("container"):
        if finding.status == "missing":
            pytest.skip(f"{finding.message}; {finding.remedy}")
    if shutil.which("nginx", path="/usr/sbin:/usr/bin") is None:
        pytest.skip("needs nginx: apt-get install nginx-light")
    return own_state(tmp_path_factory, monkeypatch)


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "aferir", "elastic", "measure", *words, "--json"]


def measured(*words: str) -> dict[str, Any]:
    done = subprocess.run(command(*words), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    figures["values"] = {one["metric"]: one["value"] for one in figures["samples"]}
    return figures


def left(state: Path) -> list[str]:
    loops = subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True).stdout
    return leftovers() + [line for line in loops.splitlines() if str(state) in line]


def test_an_allocation_has_phases_that_add_up_and_the_copy_is_only_of_a_cold_host(
    state: Path,
) -> None:
    cold = measured("allocation", "--cache", "cold")
    warm = measured("allocation", "--cache", "warm")
    for figures in (cold, warm):
        values = figures["values"]
        phases_s = values["tef_s"] + values["tci_s"] + values["tii_s"]
        assert 0 < phases_s <= values["duration_s"] * (1 + 1e-9)
        assert figures["doubts"] == []
        assert values["tlr_s"] > 0
    assert cold["values"]["tci_s"] > 0
    assert warm["values"]["tci_s"] >= 0
    assert left(state) == []


def test_a_node_of_the_cloud_answers_those_outside(state: Path, tmp_path: Path) -> None:
    node = template(make(Video(seconds=1.0), tmp_path), tmp_path)

    def measure() -> None:
        # In threads that are among the clients; the test itself stays where it is.
        with simulated.simulated_cloud(simulated.Layout(hosts=1), node) as cloud:
            namespace.enter(cloud.clients_namespace)
            with ThreadPoolExecutor(1) as outside:
                asked = time.perf_counter()
                watch = outside.submit(first_answer, simulated.address_of(1, 1), asked)
                server = cloud.create()
                phases_s = sum(phase.seconds or 0.0 for phase in server.phases)
                assert phases_s > 0
                assert watch.result() < math.inf

    userland.ensure()
    with ThreadPoolExecutor(1) as alone:
        alone.submit(measure).result()
    assert left(state) == []


def test_a_guest_is_a_node_too(state: Path) -> None:
    if any(finding.status == "missing" for finding in simulated.check("vm")):
        pytest.skip("needs QEMU")
    figures = measured("allocation", "--technology", "vm", "--hosts", "1")
    emulated = any(one.status == "degraded" for one in simulated.check("vm"))
    codes = [one["code"] for one in figures["doubts"]]
    assert (GUESTS_EMULATED in codes) == emulated
    values = figures["values"]
    assert values["tii_s"] > 0
    assert values["tlr_s"] > 0
    assert left(state) == []


def test_every_viewer_of_a_movie_is_in_the_books(state: Path) -> None:
    figures = measured(
        *("movie", "--clients", "20", "--interarrival", "0.1", "--video", "10"),
        *("--patience", "300", "--clients-per-node", "6", "--hosts", "2", "--per-host", "2"),
    )
    values = figures["values"]
    outcomes = [values[name] for name in ("served", "blocked", "abandoned", "failed")]
    assert values["requests"] == sum(outcomes) == 20
    assert values["allocations"] >= 4  # the last come long before the first have seen their video
    assert max(figures["series"][3]["values"]) > 0
    assert left(state) == []


def test_a_killed_run_leaves_nothing_that_clean_does_not_find(state: Path) -> None:
    words = ("movie", "--clients", "9", "--interarrival", "0.1", "--video", "60")
    child = subprocess.Popen(
        command(*words, "--patience", "300", "--clients-per-node", "3"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def two_made() -> bool:
        return sum(entry.kind == "container" for entry in journal.entries()) >= 2

    eventually(lambda: two_made() or child.poll() is not None)
    assert child.poll() is None
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert {entry.kind for entry in journal.orphans()} >= {"container", namespace.KIND}
    subprocess.run([sys.executable, "-m", "aferir", "clean"], check=True)
    assert left(state) == []


def test_faults_are_counted_and_nothing_leaks(state: Path) -> None:
    for outcome in sequences(3, seed=7):
        assert outcome.accounted, outcome
        assert outcome.leaks == ()
    assert left(state) == []
