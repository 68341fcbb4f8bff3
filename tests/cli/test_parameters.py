"""Parameters that a program passes on to the aferir that it starts arrive unchanged."""

from __future__ import annotations

import argparse
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from aferir.cli import main
from aferir.cli.parameters import read_options
from aferir.colocation.program import COLOCATION, ColocationParameters
from aferir.colocation.settings import Sla
from aferir.colocation.verbs import measure as colocate
from aferir.elastic.program import CAPACITY, MOVIE, CapacityParameters, MovieParameters
from aferir.elastic.verbs import measure as elastic
from aferir.machine import packages
from aferir.power.asked import Place
from aferir.power.sources import PowerSource
from aferir.programs.base import Command, read_parameters
from tests.unit.programs.taking import command_of

MOVIE_TABLE = {"clients": 7, "interarrival": "100 ms", "front": "10.0.0.1", "cpu_quota": 0.5}
SERVICE_TABLE = {"service": "memcached", "sla": "p99=2ms", "arms": "fifo,aferir", "load": 1}


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFERIR_KERNELS", str(tmp_path))
    monkeypatch.setattr(packages, "missing", lambda _: [])
    for name in ("video-clients", "request-clients"):
        (tmp_path / name).touch(mode=0o755)


def told(verb: ModuleType, command: Command) -> argparse.Namespace:
    """Arguments of a verb from a program's command `-m aferir CHAPTER VERB ...`."""
    parser = argparse.ArgumentParser()
    verb.configure(parser)
    return parser.parse_args(command.arguments[4:])


def test_a_movie_is_told_as_it_was_validated() -> None:
    options = told(elastic, command_of(MOVIE, MOVIE_TABLE))
    found = read_options(MovieParameters, options)
    assert found == read_parameters(MOVIE, MOVIE_TABLE)
    assert (found.clients, found.interarrival, options.step) == (7, 0.1, "movie")


def test_a_source_of_power_travels_parsed() -> None:
    options = told(elastic, command_of(CAPACITY, {"power": "snmp:1.3.6*0.1@[fe80::1]:162"}))
    place = Place(what="1.3.6", host="fe80::1", port=162, scale=0.1)
    wanted = PowerSource(kind="snmp", place=place)
    assert read_options(CapacityParameters, options).power == wanted


def test_a_service_level_and_arms_travel_parsed() -> None:
    options = told(colocate, command_of(COLOCATION, SERVICE_TABLE))
    found = read_options(ColocationParameters, options)
    assert found == read_parameters(COLOCATION, SERVICE_TABLE)
    assert (found.sla, found.arms) == (Sla(0.99, 0.002), ("fifo", "aferir"))


@pytest.mark.parametrize("document", ["{", "[]", '{"clients": 0}', '{"clients": "7"}'])
def test_a_document_that_is_none_is_a_usage_error(
    document: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["elastic", "measure", "movie", "--parameters", document]) == 2
    assert "--parameters" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["movie", "--clients", "0"], "--clients: 0 is out of range"),
        (["movie", "--power", "nonsense:1"], "--power:"),
        (["allocation", "--clients", "5"], "means nothing for the step `allocation`"),
        (["capacity", "--live", "70000"], "--live 70000"),
        (["allocation", "--hosts", "many"], "not a whole number"),
    ],
)
def test_a_wrong_option_is_named(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["elastic", "measure", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["--sla", "p95=banana"], ["--arms", "typo"], ["--load", "9"], ["--batch", "x"]]
)
def test_colocation_refuses_what_an_experiment_refuses(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["colocate", "measure", "nginx", *words]) == 2
    assert f"{words[0]}: " in capsys.readouterr().err


def test_options_say_the_same_as_a_document() -> None:
    parser = argparse.ArgumentParser()
    elastic.configure(parser)
    words: list[Any] = ["movie", "--clients", "7", "--interarrival", "0.1", "--cpu-quota", "0.5"]
    options = parser.parse_args([*words, "--front", "10.0.0.1"])
    assert read_options(MovieParameters, options) == read_parameters(MOVIE, MOVIE_TABLE)
