"""Broken experiment files: each is refused with the place, the reason and a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.config import load, parse, read_bytes
from aferir.errors import UsageError
from aferir.registry import all_programs, kinds
from tests.unit.config.broken_files import BROKEN
from tests.unit.config.broken_pieces import (
    BOX,
    EP,
    EXPERIMENT,
    GOOD,
    GUEST,
    HOST,
    NATIVE,
    check_refused,
    refusal,
)


def test_the_file_that_the_others_are_made_from_is_fine() -> None:
    assert len(parse(GOOD.encode(), HOST, all_programs(), kinds()).cells) == 1


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_with_place_reason_and_remedy(name: str) -> None:
    check_refused(*BROKEN[name])


def test_all_problems_are_named_at_once_a_line_each() -> None:
    content = (
        '[experiment]\nname = "a/b"\nsed = 1\n' + NATIVE + "cpus = 9\n" + BOX
        + 'memory = "1 GX"\n' + EP + "threads = 0\n[stop]\nrepetitions = 0\n"
    )  # fmt: skip
    lines = refusal(content).message.splitlines()
    assert lines[0].endswith("has 6 problems:")
    places = [line.split(":")[0].strip() for line in lines[1:]]
    assert sorted(places) == [
        "environment[1].cpus",
        "environment[2].memory",
        "experiment.name",
        "experiment.sed",
        "stop.repetitions",
        "workload[1].threads",
    ]


def test_one_mistake_gives_one_problem() -> None:
    """What follows from a mistake is not reported as another one."""
    for name in ("unknown kind", "unknown kernel", "quota zero", "unknown program", "pin twice"):
        assert "has 1 problem:" in refusal(BROKEN[name][0]).message, name


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        load(tmp_path / "absent.toml", HOST, all_programs(), kinds())
    with pytest.raises(UsageError, match="is a folder"):
        load(tmp_path, HOST, all_programs(), kinds())
    with pytest.raises(UsageError, match=r"there is no file|cannot be read"):
        load(tmp_path / ("x" * 5000), HOST, all_programs(), kinds())
    with pytest.raises(UsageError, match="cannot be read"):
        load(Path("a\0b"), HOST, all_programs(), kinds())
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"[experiment]\nname = '\xff\xfe'\n")
    with pytest.raises(UsageError, match="not UTF-8 text: byte 21"):
        load(binary, HOST, all_programs(), kinds())
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(UsageError, match="larger than"):
        read_bytes(large)


REFUSED_BEFORE = {
    "a service level": (
        'program = "colocation"\nsla = "p95=banana"', "workload[1].sla", "p95=100ms",
    ),
    "a policy": ('program = "colocation"\narms = "typo"', "workload[1].arms", "`aferir`"),
    "a batch program": ('program = "colocation"\nbatch = "xs"', "workload[1].batch", "`xz`"),
    "an address": (
        'program = "elastic-movie"\nfront = "no address"', "workload[1].front", "10.0.0.1",
    ),
    "everybody's address": (
        'program = "elastic-movie"\nfront = "::"', "workload[1].front", "10.0.0.1",
    ),
    "a scheduler": (
        'program = "elastic-movie"\ndask = "10.0.0.2"', "workload[1].dask", "tcp://10.0.0.2:8786",
    ),
    "a source of power": (
        'program = "elastic-capacity"\npower = "nonsense:1"', "workload[1].power", "nut:UPS",
    ),
    "a port": (
        'program = "elastic-capacity"\npower = "nut:ups@h:port"', "workload[1].power", "HOST:PORT",
    ),
    "a link that works again before it is cut": (
        'program = "aggregation"\nmethod = "mptcp"\nrestore_at = 1',
        "workload[1].restore_at", "cut_at",
    ),
    "links cut for longer than is sent": (
        'program = "aggregation"\nmethod = "mptcp"\ncut_each = true\ncut_at = 1\nrestore_at = 2',
        "workload[1].cut_each", "seconds",
    ),
    "a stream that is too slow": (
        'program = "elastic-movie"\nsent_mbit = 1.0', "workload[1].sent_mbit", "bitrate_mbit",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED_BEFORE)
def test_what_a_child_process_would_stumble_over_is_refused_before_it_starts(name: str) -> None:
    lines, place, remedy = REFUSED_BEFORE[name]
    content = EXPERIMENT + NATIVE + f'[[workload]]\nname = "w"\n{lines}\n'
    check_refused(content, place, " ", remedy)


def test_colocation_is_refused_where_it_cannot_run() -> None:
    content = EXPERIMENT + GUEST + '[[workload]]\nname = "w"\nprogram = "colocation"\n'
    content = content.replace('name = "e"', 'name = "e"\nbaseline = "guest"')
    check_refused(content, "workload[1].environments", "is a vm", "native")


@pytest.mark.parametrize(
    "lines",
    ['program = "npb-mpi"\nkernel = "is"\nclass = "S"\nprocesses = 2', 'program = "net-sweep"'],
)
def test_a_test_network_is_made_by_the_host_alone(lines: str) -> None:
    more = '\ntransport = "mpi"' if "sweep" in lines else ""
    workload = f'[[workload]]\nname = "w"\n{lines}{more}\n'
    content = EXPERIMENT + NATIVE + BOX + workload
    assert parse(content.encode(), HOST, all_programs(), kinds()).cells
    check_refused(
        content + 'method = "multi-rail"\n',
        "workload[1].environments", "`box` is a container", "name those of kind native",
    )  # fmt: skip
