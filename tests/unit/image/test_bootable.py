"""The initramfs of a disk that boots by itself finds its root by the label."""

from __future__ import annotations

import subprocess
from pathlib import Path

from aferir.image import bootable, initramfs


def test_the_root_is_the_partition_with_the_label_and_the_script_is_valid(tmp_path: Path) -> None:
    base = initramfs.archive({"ext4": b""}, b"")
    start = initramfs.member(bootable.by_label(base, "aferir-node"), "init").decode()
    assert "/dev/vda" not in start
    assert 'noatime "$disk" /disk' in start
    assert "count=11" in start
    path = tmp_path / "init"
    path.write_text(start, encoding="utf-8")
    assert subprocess.run(["sh", "-n", path], check=False).returncode == 0
