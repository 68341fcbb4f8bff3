"""Parsers of the TOML blocks of the documentation: the same as aferir's own."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aferir.clouds.providers import read_wanted
from aferir.cluster.verbs import create
from aferir.colocation import policies
from aferir.config import colocation
from aferir.config.load import plan_of
from aferir.evaluate import profile
from aferir.model.plan import HostLimits
from aferir.registry import all_programs, kinds

_HOST = HostLimits(
    cpus=tuple(range(16)), memory_bytes=64 * 2**30
)  # as large as any example asks for
_ENVIRONMENT = {"name": "plain", "kind": "native"}
_WORKLOAD = {"name": "sum", "program": "npb", "kernel": "ep", "class": "S"}


def read_experiment(path: Path) -> None:
    """Read a block as an experiment; what its tables do not say is added to complete the file."""
    document: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    known = {str(host["name"]) for host in document.get("host", ())}
    written = [one.get("host", "") for one in document.get("environment", ())]
    written += document.get("factors", {}).get("environment.host", ())
    used = {
        name
        for one in written
        for name in (one if isinstance(one, list) else str(one).split(","))
        if name and ":" not in name  # hosts of a batch system are not declared
    }
    added = [{"name": name, "reach": f"ssh {name}"} for name in sorted(used - known)]
    document["host"] = [*document.get("host", ()), *added]
    document.setdefault("environment", [_ENVIRONMENT])
    document.setdefault("workload", [_WORKLOAD])
    names = [str(one["name"]) for one in document["environment"]]
    if "explain" in document and document["explain"]["environment"] not in names:
        document["environment"].append(
            {
                "name": document["explain"]["environment"],
                "kind": "oci",
            }
        )
    experiment = {"name": "example", "baseline": names[0], **document.get("experiment", {})}
    document["experiment"] = experiment
    plan_of(document, _HOST, all_programs(), kinds())


def _cluster(path: Path) -> None:
    parser = argparse.ArgumentParser()
    create.configure(parser)
    create.wanted(parser.parse_args(["--file", str(path)]))


def _job(path: Path) -> None:
    settings = colocation.read(path)
    if settings.service:  # otherwise only some keys are shown
        colocation.job(settings)
    policies.make("aferir", colocation.parameters(settings))


def _entry_points(path: Path) -> None:
    groups = tomllib.loads(path.read_text(encoding="utf-8"))["project"]["entry-points"]
    assert groups.keys() == {"aferir.environments", "aferir.programs"}


READERS: Mapping[str, Callable[[Path], object]] = {
    "experiment": read_experiment,
    "cloud": read_wanted,
    "cluster": _cluster,
    "profile": profile.load,
    "job": _job,
    "entry points": _entry_points,
}
"""Readers by the name in `<!-- read as: NAME -->`. Each raises where the file is wrong."""
