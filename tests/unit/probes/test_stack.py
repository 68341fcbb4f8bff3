"""Only the leaves of a stack of devices count, so that each byte counts once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.probes.block import BlockProbe, parse_diskstats
from aferir.probes.network import NetworkProbe
from aferir.probes.stack import (
    NETWORK,
    block_leaves,
    describe_blocks,
    describe_network,
    network_leaves,
)


@pytest.mark.parametrize(
    ("names", "leaves"),
    [
        ("lo eth0", "eth0"),
        ("lo eth0 eth1 bond0", "eth0 eth1"),
        ("lo ens1f0 ens1f1 team0 team0.100 vlan100", "ens1f0 ens1f1"),
        ("lo enp3s0 br0 docker0 br-0a1b2c veth12ab vethd3 virbr0 vnet0", "enp3s0"),
        ("lo eno1 vmbr0 fwbr100i0 fwpr100p0 fwln100i0 tap100i0 veth101i0", "eno1"),
        ("lo eth0 eth0.100 wg0 tun0 tailscale0 ppp0 zt5u4x", "eth0"),
        ("lo eth0 cali123 cilium_host cilium_net flannel.1 vxlan.calico kube-ipvs0", "eth0"),
        ("lo wlan0 wwan0 usb0 ib0", "wlan0 wwan0 usb0 ib0"),
        ("lo brcm0 ethbr0", "brcm0 ethbr0"),
        ("lo ens5 eni0a1b2c3d4e5 gke0a1b2c3d azv0a1 azure0 nodelocaldns ipvl0", "ens5"),
        ("lo wlp2s0 wlp2s0mon p2p-dev-wlp2s0 vmnet8 vti0 nebula1 ovpn-x genev_sys_6081", "wlp2s0"),
        ("lo eni0 simon salmon", "eni0 simon salmon"),
        # In a container the end of a pair is all that it has.
        ("lo veth0", "veth0"),
        ("lo eth0@if7 tun0", "eth0@if7"),
        ("lo tap0 br0", "tap0"),
        ("lo", ""),
        ("", ""),
    ],
)
def test_network_devices_count_if_no_other_device_is_below_them(names: str, leaves: str) -> None:
    assert network_leaves(names.split()) == set(leaves.split())


def test_what_the_kernel_tells_comes_before_names() -> None:
    told = "uplink: left right\nleft: .\nright: .\nlan: uplink vm1\nvm1: \nlo: \n"
    assert network_leaves(["uplink", "left", "right", "lan", "vm1", "lo"], told) == {
        "left",
        "right",
    }
    # A port of a switch over its conduit, and a card over its virtual function (Azure, DSA).
    assert network_leaves(["eth0", "enP1s1"], "eth0: enP1s1 .\nenP1s1: .\n") == {"enP1s1"}
    assert network_leaves(["eth0", "lan1"], "eth0: .\nlan1: eth0 .\n") == {"eth0"}
    # Without anything physical, what is at the bottom.
    assert network_leaves(["lan", "vm1", "lo"], "lan: vm1\nvm1: \nlo: \n") == {"vm1"}


@pytest.mark.parametrize(
    ("names", "leaves"),
    [
        ("sda sda1 sda15 sdz sdaa sdaa1 sdab", "sda sdz sdaa sdab"),
        ("nvme0n1 nvme0n1p1 nvme0n10 nvme0n10p2 nvme10n1", "nvme0n1 nvme0n10 nvme10n1"),
        ("nbd1 nbd10 nbd1p1 rbd0 rbd0p1", "nbd1 nbd10 rbd0"),
        ("dasda dasda1 dasdaa dasdaa1", "dasda dasdaa"),
        ("vda vda1 dm-0 dm-10 md0 md127 md0p1 md_d1 loop0 ram0 zram0", "vda"),
        ("sda sdb zd0 zd16 zd16p1 bcache0 bcache0p1 drbd0 drbd10", "sda sdb"),
        ("mmcblk0 mmcblk0p1 mmcblk0boot0 mmcblk1", "mmcblk0 mmcblk0boot0 mmcblk1"),
        ("nvme0n1 nvme0n1p1 nvme0c0n1 nvme0c1n1 nvme1n1", "nvme0c0n1 nvme0c1n1 nvme1n1"),
        ("sda sdb emcpowera emcpowera1 md_home", "sda sdb"),
        ("cciss/c0d0 cciss/c0d0p1 cciss/c0d10", "cciss/c0d0 cciss/c0d10"),
        ("xvda1 xvdb", "xvda1 xvdb"),  # partitions that a hypervisor gives without their disk
        ("ubda ubda1 hda hda1 sr0 pmem0 pmem0p1", "ubda hda sr0 pmem0"),
    ],
)
def test_whole_disks_count_if_no_other_device_is_below_them(names: str, leaves: str) -> None:
    rows = "".join(f"8 0 {name} 1 0 2 0 3 0 4 0 0 0 0\n" for name in names.split())
    assert set(parse_diskstats(rows)) == set(leaves.split())


def test_a_layer_whose_name_says_nothing_is_told_by_the_kernel(tmp_path: Path) -> None:
    for name in ("cache7/slaves/sda", "sda/slaves"):
        (tmp_path / name).mkdir(parents=True)
    told = describe_blocks(tmp_path)
    assert block_leaves(["sda", "cache7"], told) == {"sda"}
    assert block_leaves(["sda", "cache7"]) == {"sda", "cache7"}


def test_networks_are_described_as_the_kernel_has_them(tmp_path: Path) -> None:
    net = tmp_path / "net"
    for name in ("a/device", "b", "up/lower_a", "up/lower_b"):
        (net / name).mkdir(parents=True)
    told = describe_network(net)
    assert told == "a: .\nb: \nup: a b\n"
    before = "".join(f"{name}: {8 * '1 '}{8 * '1 '}\n" for name in ("a", "b", "up"))
    after = before.replace("1", "5")
    first, last = ({"/proc/net/dev": text, NETWORK: told} for text in (before, after))
    found = {one.metric: one.value for one in NetworkProbe().samples(first, last, 1.0, "host")}
    assert found["network_receive_bytes"] == 4
    assert "network_receive_bytes_of_a" not in found  # it is the only one that counts
    assert describe_network(tmp_path / "none") == ""


def test_each_member_of_a_bond_has_its_own_traffic() -> None:
    row = "{name}: {received} 1 0 0 0 0 0 0 {sent} 1 0 0 0 0 0 0\n"
    told = {NETWORK: "bond0: eth0@if7 eth1\neth0@if7: .\neth1: .\n"}
    counters = {"bond0": (1000, 60), "eth0@if7": (700, 40), "eth1": (300, 20)}
    before = dict.fromkeys(counters, (0, 0))
    first, last = (
        {
            "/proc/net/dev": "".join(
                row.format(name=name, received=each[0], sent=each[1])
                for name, each in counts.items()
            ),
            **told,
        }
        for counts in (before, counters)
    )
    found = {one.metric: one.value for one in NetworkProbe().samples(first, last, 1.0, "host")}
    assert found["network_receive_bytes"] == 1000
    assert {name: value for name, value in found.items() if "_of_" in name} == {
        "network_receive_bytes_of_eth0_if7": 700,
        "network_receive_bytes_of_eth1": 300,
        "network_transmit_bytes_of_eth0_if7": 40,
        "network_transmit_bytes_of_eth1": 20,
    }


def test_a_counter_that_fell_gives_no_figure() -> None:
    row = "eth0: {} 1 0 0 0 0 0 0 {} 1 0 0 0 0 0 0\n"
    disk = "8 0 sda {} 0 2 0 3 0 4 0 0 0 0\n"
    first = {"/proc/net/dev": row.format(2**32 - 1, 5), "/proc/diskstats": disk.format(9)}
    last = {"/proc/net/dev": row.format(7, 6), "/proc/diskstats": disk.format(1)}
    found = {one.metric: one.value for one in NetworkProbe().samples(first, last, 1.0, "host")}
    assert "network_receive_bytes" not in found
    assert found["network_transmit_bytes"] == 1
    blocks = {one.metric: one.value for one in BlockProbe().samples(first, last, 1.0, "host")}
    assert "block_read_operations" not in blocks
    assert blocks["block_read_bytes"] == 0


@given(st.lists(st.text(max_size=12), max_size=6), st.text(max_size=60))
def test_no_names_make_it_fall_over(names: list[str], told: str) -> None:
    assert network_leaves(names, told) <= set(names)
    assert block_leaves(names, told) <= set(names)
