"""Published results to read beside one's own, and what keeps the two from being comparable."""

from __future__ import annotations

import csv
from pathlib import Path

import msgspec

ALLOCATIONS_DIFFER = (
    "Dutra 2015 allocated through the manager of a cloud of several hosts, from images of 2.8 GB; "
    "here there is one host, no manager and a small image, so only the phases compare, not the "
    "seconds."
)
OVERHEADS_DIFFER = (
    "Mello 2010 ran virtual clusters of full virtual machines without virtio on servers with Xeon "
    "5520 processors and 1 Gbit/s Ethernet; Maliszewski 2019 ran NPB class C with 16 processes on "
    "several hosts under LXC, LXD and KVM. Here one host runs smaller problems without a network, "
    "so the direction compares, not the size."
)

_PRETTY = {
    "openstack": "OpenStack",
    "opennebula": "OpenNebula",
    "kvm": "KVM",
    "xen": "Xen",
    "lxc": "LXC",
    "lxd": "LXD",
}


class PublishedAllocation(msgspec.Struct, frozen=True, kw_only=True):
    """Time to allocate one instance, seconds, mean and standard deviation over `runs`."""

    label: str
    mean_s: float
    sd_s: float
    runs: int
    image_gb: float
    source: str


class PublishedOverhead(msgspec.Struct, frozen=True, kw_only=True):
    """One published figure about the cost of an environment; no interval was published."""

    what: str
    figure: str
    source: str


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that has a place in a report; empty where the folder lacks the files."""

    allocations: tuple[PublishedAllocation, ...] = ()
    overheads: tuple[PublishedOverhead, ...] = ()


def load(folder: Path | None) -> Published:
    """Read `allocation_latency.csv`, `virtual_cluster.csv` and `nic_aggregation.csv`.

    A file that is missing contributes nothing. Errors: KeyError or ValueError where a file that
    ships with aferir has lost a column or a number.
    """
    if folder is None:
        return Published()
    return Published(
        allocations=tuple(map(_allocation, _rows(folder / "allocation_latency.csv"))),
        overheads=(
            *map(_cluster, _rows(folder / "virtual_cluster.csv")),
            *(
                _tenants(row)
                for row in _rows(folder / "nic_aggregation.csv")
                if row["what"].startswith("results ")
            ),
        ),
    )


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _allocation(row: dict[str, str]) -> PublishedAllocation:
    iaas, hypervisor = (_PRETTY.get(row[key], row[key]) for key in ("iaas", "hypervisor"))
    return PublishedAllocation(
        label=f"{iaas}, {hypervisor}",
        mean_s=float(row["mean_s"]),
        sd_s=float(row["sd_s"]),
        runs=int(row["runs"]),
        image_gb=float(row["image_gb"]),
        source=row["source"],
    )


def _cluster(row: dict[str, str]) -> PublishedOverhead:
    processes = f", {row['processes']} processes" if row["processes"] else ""
    return PublishedOverhead(
        what=f"{row['metric']}{processes}: virtual cluster over real cluster",
        figure=f"{float(row['virtual_over_real_percent']):g} %",
        source=row["source"],
    )


def _tenants(row: dict[str, str]) -> PublishedOverhead:
    what = row["what"].replace("results ", "share of results ", 1)
    return PublishedOverhead(
        what=f"NPB, NetPIPE: {what}", figure=f"{float(row['value']):g} %", source=row["source"]
    )
