"""Every experiment file that is shipped is valid on the machine that it is written for."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.config import parse, with_hosts
from aferir.model.plan import HostLimits
from aferir.registry import all_programs, kinds
from tests.checkout import ROOT

FOLDER = ROOT / "experiments"
SMALL = HostLimits(cpus=(0, 1), memory_bytes=4 * 2**30)
SERVER = HostLimits(cpus=tuple(range(16)), memory_bytes=32 * 2**30)
NODES = tuple(f"node{number}" for number in range(1, 7))
LARGE = HostLimits(
    cpus=SERVER.cpus, memory_bytes=SERVER.memory_bytes, others=dict.fromkeys(NODES, SERVER)
)
"""A server of the five works, and six of them: machines for files that have a short form."""
HOSTS = "".join(f'[[host]]\nname = "{node}"\nreach = "ssh {node}"\n' for node in NODES)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_a_shipped_experiment_can_be_planned(path: Path) -> None:
    at_scale = path.with_name(f"{path.stem}-short.toml").exists()
    content = path.read_bytes()
    if b'"node1' in content:
        content = with_hosts(content, HOSTS.encode(), source="hosts.toml")
    plan = parse(content, LARGE if at_scale else SMALL, all_programs(), kinds())
    assert plan.name == path.stem
    assert plan.cells
