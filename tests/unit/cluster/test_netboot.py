"""Workers that boot from the network: what the front end serves, and how QEMU starts them."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec
import pytest

from aferir.cluster import description as d
from aferir.cluster import manager, netboot, nodes, ovf
from aferir.cluster.description import Description
from aferir.cluster.instance import ClusterSpec
from aferir.environments.qemu import command_line
from aferir.environments.qemu.hardware import Hardware
from aferir.errors import UsageError
from aferir.image import initramfs
from aferir.linux import process
from aferir.machine import packages

LAB = Description(name="lab", nodes=3, kind="vm", boot="pxe")


def test_every_worker_gets_its_own_name_and_address_by_its_mac() -> None:
    told = [line for line in netboot.dnsmasq().splitlines() if line.startswith("dhcp-host=")]
    workers = range(1, d.MOST_NODES)
    assert told == [f"dhcp-host={d.mac(n)},{d.node_name(n)},{d.address(n)}" for n in workers]


def test_dnsmasq_understands_its_configuration(tmp_path: Path) -> None:
    if absent := packages.missing(("dnsmasq",)):
        pytest.skip(f"needs dnsmasq: {packages.install_command(absent)}")
    (tmp_path / "dnsmasq.conf").write_text(netboot.dnsmasq(), encoding="ascii")
    command = ["dnsmasq", "--test", f"--conf-file={tmp_path / 'dnsmasq.conf'}"]
    variables = {"PATH": packages.search_path()}
    assert process.run(command, environment=variables).exit_code == 0


def test_the_script_gives_the_kernel_what_dhcp_said_beside_its_usual_parameters() -> None:
    [line] = [one for one in netboot.script(2).splitlines() if one.startswith("kernel ")]
    words = line.removesuffix(" || goto again").split()
    assert words[1] == f"http://{d.address(0)}/{netboot.KERNEL}"
    assert {f"initrd={netboot.ARCHIVE}", *command_line.parameters(2).split()} < set(words)
    assert words[-3:-1] == ["aferir.name=${hostname}", "aferir.address=${ip}"]


def test_the_scripts_are_right_for_a_shell_and_the_archive_loads_its_modules_in_order() -> None:
    made = netboot.archive({"sunrpc": b"1", "nfs": b"2"}, b"box")
    start = initramfs.member(made, "init").decode()
    assert "for m in sunrpc nfs; do $b insmod" in start
    assert initramfs.member(made, "modules/nfs.ko") == b"2"
    for text in (start, netboot.START):
        process.run(["sh", "-n"], input_text=text)


@pytest.mark.parametrize("device", ["none", "virtio", "e1000"])
def test_a_worker_gets_a_network_card_with_firmware_and_neither_kernel_nor_disk(
    device: str,
) -> None:
    line = command_line.network_command(
        name="n",
        folder=Path("/n"),
        cpus=1,
        memory_bytes=2**29,
        accelerator="tcg",
        tap=("node1", d.mac(1)),
        hardware=msgspec.convert({"network_device": device}, Hardware),
    )
    assert not {"-kernel", "-initrd", "-append", "-drive", "-no-reboot"} & set(line)
    [given] = [after for word, after in itertools.pairwise(line) if word == "-device"]
    card = "e1000" if device == "e1000" else "virtio-net-pci"
    assert given == f"{card},netdev=net,mac={d.mac(1)}"


@pytest.mark.parametrize(
    ("boot", "numbers", "turns"),
    [
        ("pxe", [0, 1, 2], [[0], [1, 2]]),
        ("pxe", [2, 3], [[2, 3]]),
        ("pxe", [0], [[0]]),
        ("disk", [0, 1, 2], [[0, 1, 2]]),
    ],
)
def test_a_front_end_starts_before_those_that_boot_from_it(
    boot: d.Boot, numbers: list[int], turns: list[list[int]]
) -> None:
    asked = msgspec.structs.replace(LAB, boot=boot)
    assert [list(one) for one in nodes.in_turn(asked, numbers)] == turns


def test_the_front_end_itself_boots_from_its_disk_and_workers_keep_none() -> None:
    front, worker = (
        d.Node(name=d.node_name(n), address=d.address(n), entry="", cpus=()) for n in (0, 1)
    )
    assert [nodes.boots_from_network(LAB, one) for one in (front, worker)] == [False, True]
    assert [nodes.keeps_disk(LAB, one) for one in (front, worker)] == [True, False]


def test_containers_do_not_boot_from_the_network() -> None:
    with pytest.raises(UsageError, match="no firmware"):
        manager.require(msgspec.structs.replace(LAB, kind="container"))


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"node_kind": "vm"}, []),
        ({"node_kind": "container"}, ["boot"]),
        ({"node_kind": "vm", "host": "a,b"}, ["boot"]),
    ],
)
def test_in_an_experiment_guests_of_one_host_boot_from_the_network(
    given: dict[str, str], wrong: list[str]
) -> None:
    asked = {"name": "c", "memory_bytes": 2**29, "boot": "pxe", **given}
    found = msgspec.convert(asked, ClusterSpec).conflicts()
    assert [one.key for one in found] == wrong


@pytest.mark.parametrize(("kind", "boot"), [(None, "pxe"), ("container", "diskless")])
def test_a_package_is_loaded_as_containers_without_the_boot_that_these_lack(
    kind: d.NodeKind | None, boot: str
) -> None:
    system = ovf.System(name="front", disk="front", cpus=1, memory_bytes=2**29)
    package = ovf.Package(files=(), disks=(), systems=(system,), properties=ovf.properties(LAB))
    assert ovf.description(package, "", kind).boot == boot
