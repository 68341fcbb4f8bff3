"""The program `colocation` in experiments: its parameters, and what it reports as missing."""

from __future__ import annotations

import random
import shlex
from pathlib import Path

import msgspec
import pytest

from aferir.colocation.further import Further, parse
from aferir.colocation.program import BATCH, COLOCATION, ColocationParameters, need_batch
from aferir.colocation.settings import Sla
from aferir.colocation.trials.memcached import value_bytes
from aferir.colocation.trials.programs import PROGRAMS, loop
from aferir.errors import MissingError, UsageError
from aferir.machine import packages
from tests.unit.programs.taking import command_of, memory_of, wrong_with


def test_every_batch_program_is_known_to_both() -> None:
    assert set(BATCH) == set(PROGRAMS)


def test_services_and_batch_programs_are_chosen_by_name() -> None:
    for service in ("nginx", "memcached", "elasticsearch", "opensearch"):
        assert wrong_with(COLOCATION, {"service": service, "batch": "gcc", "threads": 6}) == []
    assert "memcached" in wrong_with(COLOCATION, {"service": "httpd"})[0]
    assert "povray" in wrong_with(COLOCATION, {"batch": "pov"})[0]
    assert wrong_with(COLOCATION, {"text_bytes": 1000})
    with pytest.raises(UsageError, match="no batch program"):
        need_batch("pov")


def test_further_services_have_a_load_and_an_sla_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packages, "missing", lambda _: [])
    wanted = Further(service="memcached", load=0.3, rate=2000.0, sla=Sla(0.95, 0.01))
    line = command_of(COLOCATION, {"command": "true", "more_services": str(wanted)})
    read = msgspec.json.decode(line.arguments[-1], type=ColocationParameters)
    assert read.more_services == (wanted,)
    assert read.services == ("nginx", "memcached")
    assert parse("memcached") == Further(service="memcached")
    more = {"more_services": "elasticsearch load=0.1, opensearch load=0.1"}
    alone, heap = (memory_of(COLOCATION, one) for one in ({}, {"service": "opensearch"}))
    assert memory_of(COLOCATION, more) == 2 * heap - alone


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("httpd load=0.5", "memcached"),
        ("memcached load=2", "out of range"),
        ("memcached load=nan", "out of range"),
        ("memcached weight=1", "`weight` is not a key"),
        ("memcached sla=10ms", "p95=100ms"),
        ("memcached, memcached load=0.1", "already"),
        ("nginx", "already"),
    ],
    ids=["service", "load", "nan", "key", "sla", "twice", "first"],
)
def test_a_further_service_that_is_wrong_is_told_with_what_may_be_written(
    written: str, why: str
) -> None:
    (said,) = wrong_with(COLOCATION, {"more_services": written})
    assert said.startswith("more_services: ")
    assert why in said


def test_any_command_is_batch_work_instead_of_a_named_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packages, "missing", lambda _: [])
    line = command_of(COLOCATION, {"batch": "npb-cg", "command": "parsecmgmt -p 'a b'"})
    assert "parsecmgmt -p 'a b'" in line.arguments[-1]
    assert line.there is not None
    assert [path.name for path in line.there.files] == ["request-clients"]
    with pytest.raises(UsageError, match="no batch program"):
        loop("pov", Path(), 1)
    assert shlex.quote("a; b 'c'") in loop("pov", Path(), 1, "a; b 'c'")[2]


def test_what_is_not_installed_is_said_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AFERIR_CACHE", str(tmp_path))
    monkeypatch.setattr(packages, "missing", lambda programs: [p for p in programs if p != "java"])
    with pytest.raises(MissingError) as found:
        need_batch("cache")
    assert "stress-ng" in found.value.remedy
    monkeypatch.setattr(packages, "missing", lambda _: [])
    with pytest.raises(MissingError) as found:
        command_of(COLOCATION, {"service": "opensearch"})
    assert found.value.remedy == "run `aferir fetch opensearch`"


def test_values_of_the_cache_are_many_small_and_few_large() -> None:
    draw = random.Random(1)  # noqa: S311 - not cryptography
    sizes = sorted(value_bytes(draw) for _ in range(20_000))
    assert sizes[0] >= 1
    assert 150 < sizes[len(sizes) // 2] < 200  # of the distribution: 168
    assert sizes[-1] > 5_000
