from __future__ import annotations

import socket
import struct
import threading
from pathlib import Path, PurePosixPath

import pytest

from aferir.environments.uml import control, machine
from aferir.environments.uml.machine import Kernel, Share
from aferir.errors import MissingError, ProgramError
from aferir.image import initramfs

AGENT = 7


def kernel(folder: Path, needs: dict[str, str]) -> Kernel:
    """A kernel with those modules, each with the modules that it requires."""
    below = folder / "kernel/drivers"
    below.mkdir(parents=True)
    for name, needed in needs.items():
        (below / f"{name}.ko").write_bytes(b"\0depends=" + needed.encode() + b"\0")
    (folder / "modules.builtin").write_text("kernel/fs/ext4/ext4.ko\n", encoding="ascii")
    return Kernel(Path("/usr/bin/linux.uml"), "6.1", folder)


def test_modules_come_after_what_they_need(tmp_path: Path) -> None:
    found = kernel(tmp_path, {"bonding": "tls", "tls": "", "sch-tbf": "", "veth": ""})
    assert list(machine.modules(found, ["sch_tbf", "bonding"])) == ["sch_tbf", "tls", "bonding"]
    assert list(machine.modules(found, ["ext4"])) == []  # it is in the kernel
    assert machine.modules(Kernel(Path(), "6.1", tmp_path / "none"), []) == {}


def test_a_module_that_the_kernel_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no module mptcp") as caught:
        machine.modules(kernel(tmp_path, {"bonding": ""}), ["bonding", "mptcp"])
    assert caught.value.remedy


def test_the_archive_loads_and_mounts_what_is_asked_for() -> None:
    shares = [
        Share(Path("/jail"), machine.HOST_FILES, writable=True),
        Share(Path("/jail/below"), PurePosixPath("/mnt")),
    ]
    packed = machine.archive({"tls": b"1", "bonding": b"2"}, b"busybox", shares, Path("/jail"))
    start = initramfs.member(packed, "init").decode()
    assert "for m in tls bonding;" in start
    assert f'-o "/.,rw" host "/disk{machine.HOST_FILES}"' in start
    assert '-o "/below,ro" host "/disk/mnt"' in start
    assert initramfs.member(packed, "modules/bonding.ko") == b"2"


def test_the_command_line_says_what_the_guest_is_made_of(tmp_path: Path) -> None:
    line = machine.command(
        kernel(tmp_path, {}),
        folder=Path("/vms/one"),
        disk=Path("/images/disk.img"),
        memory_bytes=2**28 + 1,
        agent=AGENT,
        jail=Path("/vms/one/files"),
        wires=[8, 9],
    )
    assert line[0] == "/usr/bin/linux.uml"
    assert "mem=257M" in line
    assert f"ssl0=fd:{AGENT}" in line
    assert "ubd0=/vms/one/disk.cow,/images/disk.img" in line
    assert "hostfs=/vms/one/files" in line
    assert [word.split(":")[0] for word in line if word.startswith("vec")] == ["vec0", "vec1"]


@pytest.mark.parametrize(("failed", "parts"), [(0, ["one", "two"]), (-22, ["unknown command"])])
def test_the_control_socket_is_asked_and_its_answer_put_together(
    tmp_path: Path, failed: int, parts: list[str]
) -> None:
    path = tmp_path / "mconsole"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(path))

        def answer() -> None:
            asked, sender = server.recvfrom(1024)
            magic, version, size = struct.unpack_from("=IIi", asked)
            assert (magic, version, asked[12 : 12 + size]) == (0xCAFEBABE, 2, b"stop")
            for number, part in enumerate(parts, 1):
                text = part.encode()
                more = number < len(parts)
                server.sendto(struct.pack("=iii", failed, more, len(text)) + text, sender)

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            if failed:
                with pytest.raises(ProgramError, match="unknown command"):
                    control.ask(path, "stop")
            else:
                assert control.ask(path, "stop") == "onetwo"
        finally:
            thread.join()


def test_a_kernel_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="did not do `go`"):
        control.ask(tmp_path / "none", "go")
