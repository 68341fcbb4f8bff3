"""Features that kinds declare, removed from real instances."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from aferir import config, machine, registry
from aferir.cli.running import carry_out
from aferir.config.document import write_toml
from aferir.environments.base import Environment
from aferir.linux import journal, process
from aferir.model.checking import read_value
from aferir.runner import Watch
from tests.integration.support import usable

pytestmark = pytest.mark.integration

LAYERED = ("bubblewrap", "chroot", "nspawn", "charliecloud", "apptainer", "container")
TYPE = "stat -f -c %T"
"""Command that prints the types of the file systems of some folders."""


def type_of(folder: str | Path) -> str:
    """Type of the file system of a folder of the host."""
    return process.run([*TYPE.split(), str(folder)]).stdout.strip()


def said_with(environment: Environment, script: str, **keys: Any) -> str:
    kind = registry.kinds()[environment.kind]
    fields = {field.key: field for field in kind.keys}
    own = {fields[key].attribute: read_value(fields[key], value) for key, value in keys.items()}
    spec = kind.spec(name="it", kind=kind.name, cpus=1, memory_bytes=2**28, **own)
    instance = environment.allocate(spec)
    try:
        return instance.run(["sh", "-c", script]).stdout.strip()
    finally:
        instance.release()


@pytest.mark.parametrize("kind", LAYERED)
def test_a_volume_is_no_overlay_and_can_be_written_to(kind: str) -> None:
    environment = usable(kind)
    script = f"touch /var/tmp/x && {TYPE} / /var/tmp"
    assert said_with(environment, script).split() == ["overlayfs", "overlayfs"]
    root, volume = said_with(environment, script, volume="/var/tmp").split()
    assert root == "overlayfs"
    assert volume == type_of(journal.state_folder())


def test_a_container_has_its_filter_and_its_network_or_the_hosts() -> None:
    environment = usable("container")
    script = "grep '^Seccomp:' /proc/self/status | cut -f2; ip -o link | wc -l"
    filtered, links = said_with(environment, script).split()
    assert (filtered, links) == ("2", "1")
    bare, more = said_with(environment, script, seccomp="unconfined", network="host").split()
    assert bare == "0"
    assert int(more) > 1


def test_a_cold_page_cache_makes_a_command_read_its_files_from_the_disk(tmp_path: Path) -> None:
    if type_of(tempfile.gettempdir()) == "tmpfs":
        pytest.skip("temporary files are in memory here: set TMPDIR to a folder on a disk")
    (tmp_path / "data").write_bytes(b"x" * 2**22)
    document: dict[str, Any] = {
        "experiment": {"name": "cold", "baseline": "warm", "warmup": 0},
        "stop": {"repetitions": 1},
        "environment": [
            {"name": name, "kind": "native", "page_cache": name} for name in ("warm", "cold")
        ],
        "workload": [
            {
                "name": "read",
                "program": "command",
                "command": "cat data",
                "files": str(tmp_path / "data"),
            }
        ],
    }
    limits = machine.host_limits()
    plan = config.plan_of(document, limits, registry.all_programs(), registry.kinds())
    content = write_toml(document).encode()
    run = carry_out(plan, content, tmp_path / "runs", watch=Watch())
    read = {
        record.environment: sample.value
        for record in run.records
        for sample in record.samples
        if sample.metric == "read_bytes"
    }
    assert read["warm"] < 2**22 <= read["cold"]
