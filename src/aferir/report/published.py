"""Published results for comparison, and reasons why they are not directly comparable."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import msgspec

from aferir.report.formatting import quantity
from aferir.report.model import Evaluation

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
CLOCKS_DIFFER = (
    "Dutra 2015 measured on Xeon E5410 processors, with RVEC as a system call, a GPS card as the "
    "reference, and an NTP client that was started anew for each correction. Here RVEC takes no "
    "system call and both ends of an exchange are on one host, so the order of clocks and the "
    "growth with the interval compare, not the sizes."
)

ELASTICITY_DIFFERS = (
    "Dutra 2015 let viewers watch videos of 30 minutes from eight servers under OpenStack Juno or "
    "OpenNebula 4.10, with images of 2.8 GB, and at most 100 or 40 of them per Node. What a host "
    "sustains compares only where its uplink is as fast; blocked clients only where allocations "
    "are as long beside patience."
)

_PRETTY = {
    "openstack": "OpenStack",
    "opennebula": "OpenNebula",
    "kvm": "KVM",
    "xen": "Xen",
    "lxc": "LXC",
    "lxd": "LXD",
    "native": "the host itself",
}


class PublishedAllocation(msgspec.Struct, frozen=True, kw_only=True):
    """Published time to allocate an instance in s: mean and standard deviation over `runs`."""

    label: str
    mean_s: float
    sd_s: float
    runs: int
    image_gb: float
    source: str


class PublishedOverhead(msgspec.Struct, frozen=True, kw_only=True):
    """Published figure on the cost of an environment, without an interval."""

    what: str
    figure: str
    source: str


class PublishedFigure(msgspec.Struct, frozen=True, kw_only=True):
    """Published figure that a program of aferir reports too."""

    metric: str
    """Metric of aferir that it is shown with."""
    what: str
    figure: str
    """Figure for people, with its published spread."""
    source: str


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """Published results that a report may show; empty where the files are missing."""

    allocations: tuple[PublishedAllocation, ...] = ()
    overheads: tuple[PublishedOverhead, ...] = ()
    clocks: tuple[PublishedFigure, ...] = ()
    elasticity: tuple[PublishedFigure, ...] = ()


def beside(
    published: Sequence[PublishedFigure], evaluation: Evaluation
) -> tuple[PublishedFigure, ...]:
    """Figures for which the run has the corresponding metric."""
    have = {metric.metric for cell in evaluation.cells for metric in cell.metrics}
    have |= {family.metric for family in evaluation.curves}
    return tuple(figure for figure in published if figure.metric in have)


def load(folder: Path | None) -> Published:
    """Read the published tables of allocation, virtual clusters, aggregation, clocks, elasticity.

    Missing files are skipped. Errors: KeyError or ValueError where a file that ships with aferir
    lacks a column or a number.
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
        clocks=(
            *map(_read_cost, _rows(folder / "clock_read_cost.csv")),
            *map(_stability, _rows(folder / "clock_gps_vs_tsc.csv")),
            *map(_correction, _rows(folder / "ntp_corrections.csv")),
        ),
        elasticity=(
            *map(_streams, _rows(folder / "vod_streams_per_host.csv")),
            *map(_allocated, _rows(folder / "allocation_latency.csv")),
            *map(_blocked, _rows(folder / "vod_blocking.csv")),
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


def _streams(row: dict[str, str]) -> PublishedFigure:
    technology, instances = (
        _PRETTY.get(row["virtualisation"], row["virtualisation"]),
        row["instances"],
    )
    what = technology if instances == "0" else f"{technology}, instances: {instances}"
    return PublishedFigure(
        metric="streams",
        what=f"streams that a host sustains, {what}",
        figure=row["clients_per_host"],
        source=row["source"],
    )


def _allocated(row: dict[str, str]) -> PublishedFigure:
    known = _allocation(row)
    network = float(row["extra_network_context_s"])
    then = f", and {quantity(network, 's')} for the network" if network else ""
    return PublishedFigure(
        metric="tar_s",
        what=f"TaR, {known.label}, {known.runs} runs",
        figure=_mean_sd(known.mean_s, known.sd_s) + then,
        source=known.source,
    )


def _blocked(row: dict[str, str]) -> PublishedFigure:
    iaas, hypervisor = (_PRETTY.get(row[key], row[key]) for key in ("iaas", "hypervisor"))
    best, worst = row["blocked_best"], row["blocked_worst"]
    runs = f" ({best} to {worst} clients)" if best and worst else ""
    load = f"{row['clients']} clients, patience {row['patience_s']} s"
    return PublishedFigure(
        metric="blocked_percent",
        what=f"PcBl, {iaas}, {hypervisor}, {load}",
        figure=f"{float(row['PcBl_percent']):g} %{runs}",
        source=row["source"],
    )


def _read_cost(row: dict[str, str]) -> PublishedFigure:
    return PublishedFigure(
        metric="added_to_loop_s",
        what=f"one reading of {row['clock'].upper()}, added to a loop of 5,000 additions",
        figure=_mean_sd(float(row["mean_ns"]) * 1e-9, float(row["sd_ns"]) * 1e-9),
        source=row["source"],
    )


def _stability(row: dict[str, str]) -> PublishedFigure:
    return PublishedFigure(
        metric="loop_s",
        what=f"{int(row['adds_in_loop']):,} additions by the TSC; by GPS "
        f"{float(row['difference_us']):g} µs more",
        figure=_mean_sd(float(row["tsc_mean_us"]) * 1e-6, float(row["tsc_sd_us"]) * 1e-6),
        source=row["source"],
    )


def _correction(row: dict[str, str]) -> PublishedFigure:
    return PublishedFigure(
        metric="correction_mean_s",
        what=f"correction by NTP every {row['interval_s']} s",
        figure=_mean_sd(float(row["mean_correction_us"]) * 1e-6, float(row["sd_us"]) * 1e-6),
        source=row["source"],
    )


def _mean_sd(mean_s: float, sd_s: float) -> str:
    return f"{quantity(mean_s, 's')} ± {quantity(sd_s, 's')}"
