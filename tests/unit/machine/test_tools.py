"""Versions of programs: from a script's text, or asked once of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.machine import tools


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"#!/usr/bin/perl\nuse strict;\nour $VERSION = '1.3.5';\n", "1.3.5"),
        (b'#!/bin/sh\nVERSION="2.0~rc1"\n', "2.0~rc1"),
        (b"#!/bin/sh\necho nothing\n", ""),
        (b"\x7fELF VERSION = '1.0'", ""),
    ],
)
def test_a_script_tells_its_version_itself(head: bytes, said: str) -> None:
    assert tools.of_script(head) == said


def test_a_program_is_asked_again_only_after_its_file_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFERIR_CACHE", str(tmp_path / "cache"))
    program, asked = tmp_path / "tool", tmp_path / "asked"

    def install(version: str) -> None:
        program.write_text(f"#!/bin/sh\necho >> {asked}\necho tool {version}\n", encoding="utf-8")
        program.chmod(0o755)

    install("1")
    assert [tools.version((str(program), "--version")) for _ in range(2)] == ["tool 1", "tool 1"]
    assert asked.read_text(encoding="utf-8") == "\n"
    install("2.0")
    assert tools.version((str(program), "--version")) == "tool 2.0"
    assert not tools.version((str(tmp_path / "absent"), "--version"))
