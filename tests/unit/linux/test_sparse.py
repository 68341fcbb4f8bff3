"""Copies of files with holes."""

from __future__ import annotations

from pathlib import Path

from aferir.linux import sparse

_MIB = 2**20


def test_data_is_copied_to_its_place_and_holes_stay(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    with source.open("wb") as file:
        for at, text in ((0, b"first"), (64 * _MIB, b"second"), (200 * _MIB, b"third")):
            file.seek(at)
            file.write(text)
        file.truncate(300 * _MIB)
    with target.open("wb") as file:
        file.write(b"before")
        file.truncate(400 * _MIB)
    sparse.copy_into(target, source, _MIB)
    assert target.stat().st_size == 400 * _MIB
    with target.open("rb") as file:
        for at, text in ((0, b"before"), (1, b"first"), (65, b"second"), (201, b"third")):
            file.seek(at * _MIB)
            assert file.read(7).rstrip(b"\0") == text
    assert target.stat().st_blocks <= source.stat().st_blocks + 64


def test_one_that_is_empty_or_a_hole_alone_changes_nothing(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    target.write_bytes(b"kept")
    for size in (0, _MIB):
        with source.open("wb") as file:
            file.truncate(size)
        sparse.copy_into(target, source, 0)
        assert target.read_bytes() == b"kept"
