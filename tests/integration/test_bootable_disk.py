"""The disk of a Node boots by itself in emulated machines, and serves its file by HTTP."""

from __future__ import annotations

import contextlib
import http.client
import shutil
import subprocess
from pathlib import Path

import pytest

from aferir.clouds import node_image
from aferir.elastic.node import template
from aferir.errors import MissingError
from aferir.image import bootable, userland
from aferir.image.progress import silent
from aferir.linux import process
from aferir.machine import packages
from tests.listening import port_of
from tests.waiting import eventually

OVMF = Path("/usr/share/OVMF")
QEMU = "qemu-system-x86_64"
PLAIN = ["-drive", "file={disk},if=ide,format=qcow2", "-device", "e1000,netdev=net"]
VIRTIO = ["-drive", "file={disk},if=virtio,format=qcow2", "-device", "virtio-net-pci,netdev=net"]


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if absent := packages.missing([QEMU, *node_image.PROGRAMS]):
        pytest.skip(f"{', '.join(absent)}: {packages.install_command(absent)}")
    folder = tmp_path_factory.mktemp("node")
    video = folder / "video.mp4"
    video.write_text("not a video\n", encoding="ascii")
    try:
        bootable.check()
        userland.ensure()
        return node_image.make_disk(template(video, folder), folder, "qcow2", silent)
    except MissingError as error:
        pytest.skip(f"{error.message}: {error.remedy}")


@pytest.mark.parametrize(
    ("devices", "firmware"),
    [(PLAIN, "bios"), (VIRTIO, "uefi")],
    ids=["ide-e1000-bios", "virtio-uefi"],
)
def test_a_node_boots_from_its_own_disk_and_serves(
    disk: Path, tmp_path: Path, devices: list[str], firmware: str
) -> None:
    net = "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:0-:80"
    machine = [QEMU, "-accel", "tcg", "-m", "512", "-display", "none", "-snapshot", "-netdev", net]
    firm = uefi(tmp_path) if firmware == "uefi" else []
    given = [one.format(disk=disk) for one in devices]
    child = process.start([*machine, *firm, "-serial", f"file:{tmp_path / 'serial'}", *given])
    try:
        eventually(lambda: child.poll() is not None or served(child))
        assert child.poll() is None, "the emulator has ended"
    finally:
        process.end(child)


def uefi(folder: Path) -> list[str]:
    """Options of a machine with UEFI; its variables are a copy of their own."""
    if not (OVMF / "OVMF_CODE_4M.fd").exists():
        pytest.skip("OVMF is not installed: apt-get install ovmf")
    variables = shutil.copy(OVMF / "OVMF_VARS_4M.fd", folder / "variables.fd")
    code = f"if=pflash,format=raw,readonly=on,file={OVMF / 'OVMF_CODE_4M.fd'}"
    return ["-drive", code, "-drive", f"if=pflash,format=raw,file={variables}"]


def served(machine: subprocess.Popen[str]) -> bool:
    """Whether the file is served at the port that the emulator forwards."""
    port = port_of(machine.pid)
    if port is None:
        return False
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        with contextlib.closing(connection):
            connection.request("GET", "/video.mp4")
            answer = connection.getresponse()
            return answer.status == 200 and answer.read() == b"not a video\n"
    return False
