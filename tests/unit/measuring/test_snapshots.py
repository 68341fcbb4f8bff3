"""Which frequency and which network a snapshot contains."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aferir.environments.base import Accounting, Instance
from aferir.measuring.snapshots import Watch, compare, read_instance, take_after, take_before
from aferir.model.plan import EnvironmentSpec
from tests.unit.runner.fakes import FakeEnvironment


def allocated(accounting: Accounting, prints: str = "") -> Instance:
    spec = EnvironmentSpec(name="x", kind="container", cpus=1, memory_bytes=2**20)
    instance = FakeEnvironment(
        "container", accounting=accounting, behave=lambda *_: prints
    ).allocate(spec)
    instance.resume()
    return instance


@pytest.fixture
def meter(tmp_path: Path) -> Path:
    """A program that counts its runs and takes their number for a frequency."""
    path = tmp_path / "meter"
    path.write_text(
        f"#!/bin/sh\necho x >> {tmp_path}/runs\n"
        f'echo "{{\\"frequency_hz\\": $(wc -l < {tmp_path}/runs)}}"\n'
    )
    path.chmod(0o755)
    return path


def test_the_frequency_is_measured_on_the_host_before_and_after(meter: Path) -> None:
    watch = Watch(frequency=meter)
    instance = allocated(Accounting())
    before = take_before(watch, instance)
    after = take_after(watch, instance)
    found = {(s.metric, s.side): s.value for s in compare(watch, before, after)}
    assert found == {
        ("core_frequency_before_hz", "host"): 1.0,
        ("core_frequency_after_hz", "host"): 2.0,
    }


def test_a_guest_is_asked_for_its_own_frequency_too(meter: Path) -> None:
    watch = Watch(frequency=meter)
    instance = allocated(Accounting(own_kernel=True), prints='{"frequency_hz": 5}')
    samples = compare(watch, take_before(watch, instance), take_after(watch, instance))
    inside = {s.metric: s.value for s in samples if s.side == "instance"}
    assert inside == {"core_frequency_before_hz": 5.0, "core_frequency_after_hz": 5.0}


def test_a_meter_that_is_broken_gives_no_frequency_and_no_error(tmp_path: Path) -> None:
    watch = Watch(frequency=tmp_path / "absent")
    instance = allocated(Accounting())
    assert compare(watch, take_before(watch, instance), take_after(watch, instance)) == ()


def test_a_containers_network_is_seen_through_its_first_process() -> None:
    instance = allocated(Accounting(processes=(os.getpid(),)))
    files = read_instance(("/proc/net/dev", "/proc/stat"), instance)
    assert list(files) == ["/proc/net/dev"]
    assert "lo:" in files["/proc/net/dev"]
    assert read_instance(("/proc/net/dev",), allocated(Accounting())) == {}
