"""Memory, block devices, network and switches, from the text of real files."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from aferir.model.record import Sample
from aferir.probes import all_probes
from aferir.probes.block import BlockProbe, parse_diskstats
from aferir.probes.memory import MemoryProbe, parse_meminfo
from aferir.probes.network import NetworkProbe, parse_counters, parse_devices
from aferir.probes.switches import SwitchesProbe

DISKS = """   7       0 loop0 5 0 40 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 254       0 vda {reads} 0 {sectors} 0 7 0 70 0 0 0 0 0 0 0 0 0 0
 254       1 vda1 100 0 900 0 7 0 70 0 0 0 0 0 0 0 0 0 0
 253       0 dm-0 100 0 900 0 7 0 70 0 0 0 0 0 0 0 0 0 0
"""
DEVICES = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes packets
    lo: {lo} 4 0 0 0 0 0 0 {lo} 4 0 0 0 0 0 0
  eth0:{rx} 20 0 0 0 0 0 0 3000 30 0 0 0 0 0 0
"""
SNMP = "Tcp: ActiveOpens MaxConn RetransSegs\nTcp: 5 -1 {retransmitted}\n"


def values(samples: tuple[Sample, ...]) -> dict[str, float]:
    return {sample.metric: sample.value for sample in samples}


def test_partitions_and_stacked_devices_do_not_count_twice() -> None:
    before = {"/proc/diskstats": DISKS.format(reads=10, sectors=100)}
    after = {"/proc/diskstats": DISKS.format(reads=14, sectors=108)}
    found = values(BlockProbe().samples(before, after, 1.0, "host"))
    assert found["block_read_operations"] == 4
    assert found["block_read_bytes"] == 8 * 512
    assert found["block_write_bytes"] == 0


def test_traffic_leaves_the_loopback_apart() -> None:
    before = {"/proc/net/dev": DEVICES.format(lo=10, rx=1000)}
    after = {"/proc/net/dev": DEVICES.format(lo=50, rx=1500)}
    found = values(NetworkProbe().samples(before, after, 1.0, "host"))
    assert found["network_receive_bytes"] == 500
    assert found["network_loopback_bytes"] == 40


def test_retransmitted_segments_are_the_difference_of_two_snapshots() -> None:
    before = {"/proc/net/snmp": SNMP.format(retransmitted=3)}
    after = {"/proc/net/snmp": SNMP.format(retransmitted=10)}
    found = values(NetworkProbe().samples(before, after, 1.0, "host"))
    assert found == {"tcp_retransmitted_segments": 7}


def test_memory_in_use_is_what_is_not_available() -> None:
    after = {"/proc/meminfo": "MemTotal: 100 kB\nMemAvailable: 60 kB\nHugePages_Total: 3\n"}
    assert values(MemoryProbe().samples({}, after, 1.0, "host")) == {"memory_used_bytes": 40960.0}


def test_context_switches_are_counted() -> None:
    before = {"/proc/stat": "intr 10 1 2\nctxt 100\n"}
    after = {"/proc/stat": "intr 15 1 2\nctxt 350\n"}
    found = values(SwitchesProbe().samples(before, after, 1.0, "host"))
    assert found == {"context_switches": 250, "interrupts": 5}


@given(st.text())
def test_parsers_survive_any_text(text: str) -> None:
    for parse in (parse_meminfo, parse_diskstats, parse_devices, parse_counters):
        parse(text)


def test_every_probe_says_something_about_this_very_host() -> None:
    for probe in all_probes():
        paths = [path for path in probe.paths("host") if path.startswith("/")]
        snapshot = {path: Path(path).read_text(encoding="utf-8") for path in paths}
        snapshot["children:rusage"] = "0 0"
        later = {**snapshot}
        if probe.name in {"cpu", "others"}:
            first = snapshot["/proc/stat"].splitlines()[0].split()
            first[1] = str(int(first[1]) + 100)
            rest = snapshot["/proc/stat"].splitlines()[1:]
            later["/proc/stat"] = "\n".join([" ".join(first), *rest])
        assert probe.samples(snapshot, later, 1.0, "host"), probe.name
