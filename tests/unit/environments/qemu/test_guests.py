"""Command lines and hardware of guests under QEMU, as pure functions."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from aferir.environments.qemu import command_line
from aferir.environments.qemu.hardware import Hardware
from aferir.environments.qemu.spec import GuestSpec
from aferir.image import initramfs


def guest(
    accelerator: command_line.Accelerator,
    folder: str = "/state/aferir-1",
    cpus: int = 3,
    /,
    **hardware: str,
) -> list[str]:
    return connected(accelerator, None, folder, cpus, **hardware)


def connected(
    accelerator: command_line.Accelerator,
    tap: tuple[str, str] | None,
    folder: str = "/state/aferir-1",
    cpus: int = 3,
    /,
    **hardware: str,
) -> list[str]:
    return command_line.command(
        name="aferir-1",
        folder=Path(folder),
        kernel=Path("/images/vmlinuz"),
        archive=Path("/images/initramfs.img"),
        cpus=cpus,
        memory_bytes=2**28 + 1,
        accelerator=accelerator,
        tap=tap,
        hardware=msgspec.convert(hardware, Hardware),
    )


def after(command: list[str], option: str) -> list[str]:
    return [command[i + 1] for i, part in enumerate(command) if part == option]


def test_a_guest_has_the_cpus_and_memory_it_was_promised() -> None:
    command = guest("kvm")
    assert after(command, "-smp") == ["3,sockets=1,cores=3,threads=1"]
    assert after(command, "-m") == ["257M"]
    assert after(command, "-name") == ["aferir-1"]
    assert "-netdev" not in command


def test_an_emulated_guest_with_one_cpu_is_translated_as_if_it_could_have_two() -> None:
    assert after(guest("tcg", "/one", 1), "-smp") == ["1,maxcpus=2,sockets=2,cores=1,threads=1"]
    assert "possible_cpus=1" in after(guest("tcg", "/one", 1), "-append")[0].split()
    assert after(guest("kvm", "/one", 1), "-smp") == ["1,sockets=1,cores=1,threads=1"]


def test_the_accelerator_decides_the_processor() -> None:
    assert after(guest("kvm"), "-cpu") == ["host"]
    assert after(guest("tcg"), "-accel") == ["tcg,thread=multi"]
    assert after(guest("tcg"), "-cpu") == ["max"]


def test_hardware_is_what_was_asked_for() -> None:
    usual, other = (
        guest("kvm"),
        guest("kvm", cpu_model="Nehalem", machine="pc", disk_device="nvme"),
    )
    assert after(usual, "-machine")[0].startswith("q35,")
    assert after(other, "-machine")[0].startswith("pc,")
    assert after(other, "-cpu") == ["Nehalem"]
    assert "virtio-blk-pci,drive=disk" in after(usual, "-device")
    assert "nvme,drive=disk,serial=aferir" in after(other, "-device")


@pytest.mark.parametrize(
    ("hardware", "devices", "whole"),
    [
        ({}, ["virtio-blk-pci,drive=disk"], False),
        ({"disk_device": "nvme"}, ["nvme,drive=disk,serial=aferir"], False),
        ({"disk_device": "ide", "machine": "pc"}, ["ide-hd,drive=disk,bus=ide.0"], True),
        (
            {"disk_device": "scsi", "network_device": "e1000"},
            *(["scsi-hd,drive=disk,bus=scsi.0", "e1000,netdev=user,romfile="], True),
        ),
        ({"disk_device": "sata", "kernel": "/boot/own"}, ["ide-hd,drive=disk,bus=sata.0"], False),
        ({"kernel": "whole"}, ["virtio-blk-pci,drive=disk"], True),
        ({"machine": "microvm"}, ["virtio-blk-device,drive=disk", "virtio-serial-device"], False),
        (
            {"machine": "microvm", "disk_device": "scsi", "network_device": "virtio"},
            *(["virtio-scsi-device,id=scsi", "virtio-net-device,netdev=user"], True),
        ),
    ],
)
def test_devices_and_the_kernel_that_has_drivers_of_them(
    hardware: dict[str, str], devices: list[str], whole: bool
) -> None:
    line = guest("kvm", **hardware)
    assert set(devices) <= set(after(line, "-device"))
    assert ("-netdev" in line) == ("network_device" in hardware)
    asked = msgspec.convert(hardware, Hardware)
    assert asked.wants_whole_kernel() == whole


@pytest.mark.parametrize(
    ("hardware", "wrong", "remedy"),
    [
        ({"disk_device": "ide"}, ["disk_device"], "pc"),
        ({"machine": "microvm", "disk_device": "ide"}, ["disk_device"], "pc"),
        ({"machine": "microvm", "disk_device": "nvme"}, ["disk_device"], "q35"),
        (
            {"machine": "microvm", "disk_device": "sata", "network_device": "e1000"},
            *(["disk_device", "network_device"], "q35"),
        ),
    ],
)
def test_a_device_that_the_board_lacks_is_refused_with_one_that_has_it(
    hardware: dict[str, str], wrong: list[str], remedy: str
) -> None:
    made = msgspec.convert({"name": "v", "cpus": 1, "memory_bytes": 2**28, **hardware}, GuestSpec)
    found = made.conflicts()
    assert [one.key for one in found] == wrong
    assert {one.remedy for one in found} == {f'machine = "{remedy}"'}
    assert (
        msgspec.convert({**msgspec.to_builtins(made), "machine": remedy}, GuestSpec).conflicts()
        == ()
    )


@pytest.mark.parametrize(
    ("network_device", "device"),
    [("none", "virtio-net-pci"), ("virtio", "virtio-net-pci"), ("e1000", "e1000")],
)
def test_the_interface_on_a_network_of_the_host_is_the_device_that_was_asked_for(
    network_device: str, device: str
) -> None:
    line = connected("kvm", ("node1", "02:00:0a:4d:00:02"), network_device=network_device)
    assert f"{device},netdev=net,romfile=,mac=02:00:0a:4d:00:02" in after(line, "-device")
    assert after(line, "-netdev") == ["tap,id=net,ifname=node1,script=no,downscript=no"]


def test_an_archive_is_changed_again_and_again() -> None:
    """Each change adds a file of the same name, and the last one counts."""
    made = initramfs.with_network(initramfs.with_disk(initramfs.archive({}, b"sh"), "sda"))
    start = initramfs.member(made, "init").decode()
    assert "/dev/sda" in start
    assert "/dev/vda" not in start
    assert "10.0.2.15/24 dev eth0" in start
    assert initramfs.member(made, "bin/busybox") == b"sh"
    with pytest.raises(KeyError):
        initramfs.member(made, "none")


def test_a_comma_in_a_path_does_not_end_an_option() -> None:
    (drive,) = after(guest("tcg", "/state/a,b"), "-drive")
    assert drive.endswith("file=/state/a,,b/disk.qcow2")


def test_a_trial_guest_powers_itself_off() -> None:
    command = command_line.trial_command(
        name="aferir-1",
        folder=Path("/state"),
        kernel=Path("/k"),
        archive=Path("/i"),
        accelerator="kvm",
    )
    assert "aferir.only=boot" in after(command, "-append")[0]
    assert "-drive" not in command


def test_a_guest_that_waits_for_a_busy_host_does_not_panic_for_want_of_ticks() -> None:
    command = command_line.command(
        name="g",
        folder=Path("/f"),
        kernel=Path("/k"),
        archive=Path("/i"),
        cpus=1,
        memory_bytes=2**28,
        accelerator="tcg",
    )
    assert "no_timer_check" in command[command.index("-append") + 1].split()
