"""Tests when the trial of KVM is over."""

from pathlib import Path

import pytest

from aferir.environments.qemu import kvm
from aferir.linux import process


def test_a_guest_that_hangs_is_known_by_the_cpu_time_it_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kvm, "_CPU_LIMIT_S", 0.05)
    monkeypatch.setattr(kvm, "_LIMIT_S", 3600.0)
    busy = process.start(["sh", "-c", "while :; do :; done"])
    try:
        assert "hangs" in kvm._wait(tmp_path / "console", tmp_path / "said", busy)
        assert kvm._cpu_time_s(busy.pid) > kvm._CPU_LIMIT_S
    finally:
        process.end(busy)


def test_the_first_line_of_an_emulator_that_ended_is_the_reason(tmp_path: Path) -> None:
    said = tmp_path / "said"
    said.write_text("no such device\nsecond line\n")
    ended = process.start(["false"])
    assert "(no such device)" in kvm._wait(tmp_path / "console", said, ended)
