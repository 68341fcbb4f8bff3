"""Names the steps of the five works that are experiment files, as docs/guides/studies.md does."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "experiments"
SUFFIX = "-short"

STEPS: Mapping[str, tuple[str, ...]] = {
    "Dutra 2015": (
        "vod-capacity",
        "vod-load",
        "vod-hosts",
        "vod-capacity-guests",
        "allocation-latency",
        "allocation-context",
        "adaptive-rates",
        "elasticmovie",
        "server-power",
        "clock-ecp",
        "clock-cost",
        "clock-stability",
        "clock-order",
        "clock-rule",
        "clock-rule-hosts",
        "clock-rate",
        "clock-mpi",
        "clock-mpi-hosts",
        "ocean-noise",
        "ocean-hosts",
        "clock-ntp",
    ),
    "Maliszewski 2019": (
        "messages-aggregation",
        "npb-aggregation",
        "aggregation",
        "npb-tenants",
        "instance-size",
    ),
    "Oliveira 2022": ("colocation", "colocation-step"),
    "Mello 2010": (
        "cluster-hosts",
        "cluster-hosts-guests",
        "cluster-over-hosts",
        "cluster-real-versus-virtual",
        "cluster-distributions",
        "cluster-concurrency",
        "guest-devices",
        "guest-networks",
        "cluster-boot",
        "cluster-placement",
    ),
    "Akram 2012": ("io-study", "io-reserved", "io-storage", "io-scaling"),
}
"""Files at the scale of each work's document, without their ending."""


_IN_ANOTHER = ("colocation-step",)
"""Steps whose short form is part of another step's, as one of its workloads."""


def full() -> tuple[str, ...]:
    """Names of all files at the documents' scale."""
    return tuple(name for names in STEPS.values() for name in names)


def short() -> tuple[str, ...]:
    """Names of all short forms."""
    return tuple(sorted(path.stem for path in FOLDER.glob(f"*{SUFFIX}.toml")))


def without_short() -> tuple[str, ...]:
    """Steps that have no short form: they take minutes."""
    have = {*_IN_ANOTHER, *(name.removesuffix(SUFFIX) for name in short())}
    return tuple(name for name in full() if name not in have)


def over_hosts(name: str) -> bool:
    """Whether an experiment file names hosts."""
    document = tomllib.loads(file_of(name).read_text(encoding="utf-8"))
    return any("host" in environment for environment in document["environment"])


def file_of(name: str) -> Path:
    """Path of an experiment file."""
    return FOLDER / f"{name}.toml"
