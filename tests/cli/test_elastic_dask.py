"""Simulated runs on a Dask cluster give the same results as in one process."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir.cli import main
from tests.dask_cluster import HAS_DASK, dask_cluster, needs_dask

SWEEP = [
    *("elastic", "simulate", "--clients", "60", "--interarrival", "5", "--runs", "4"),
    *("--allocation", "40,4", "--vary", "patience=5,20,90", "--json"),
]


@pytest.fixture(params=[2])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with dask_cluster(request.param, tmp_path) as address:
        yield address


@needs_dask
def test_a_sweep_over_workers_says_the_same_as_one_process(
    cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(SWEEP) == 0
    here = json.loads(capsys.readouterr().out)
    assert main([*SWEEP, "--dask", cluster]) == 0
    assert json.loads(capsys.readouterr().out) == here
    assert here["rows"][0]["blocked_percent"] > here["rows"][2]["blocked_percent"]


@needs_dask
@pytest.mark.parametrize("cluster", [0], indirect=True)
def test_a_cluster_without_workers_is_no_endless_wait(
    cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SWEEP, "--dask", cluster]) == 4
    assert "no workers" in capsys.readouterr().err


@needs_dask
def test_an_address_where_nobody_answers_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aferir.elastic.spread._CONNECT_LIMIT", "2s")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert main([*SWEEP, "--dask", f"tcp://127.0.0.1:{taken.getsockname()[1]}"]) == 4
    assert "no scheduler" in capsys.readouterr().err


@needs_dask
@pytest.mark.parametrize("address", ["", "node1", "http://node1:80"])
def test_what_is_no_address_is_refused(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SWEEP, f"--dask={address}"]) == 2
    assert "is no address" in capsys.readouterr().err


@pytest.mark.skipif(HAS_DASK, reason="distributed is here")
def test_without_dask_the_command_that_adds_it_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SWEEP, "--dask", "tcp://127.0.0.1:1"]) == 3
    assert "aferir[dask]" in capsys.readouterr().err


def test_viewers_on_other_hosts_need_a_cloud_that_they_can_reach(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["elastic", "measure", "movie", "--dask", "tcp://127.0.0.1:1"]) == 2
    assert "--cloud" in capsys.readouterr().err
    assert main(["elastic", "measure", "movie", "--front", "::"]) == 2
    assert "viewers could ask" in capsys.readouterr().err
