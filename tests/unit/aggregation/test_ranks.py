"""MPI programs over test networks: their script, and their parameters in an experiment file."""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path, PurePosixPath

import msgspec
import pytest

from aferir.aggregation import ranks
from aferir.aggregation.ranks import Job
from aferir.aggregation.verbs import run as verb
from aferir.aggregation.verbs.run import with_links
from aferir.cli.parameters import read_options
from aferir.errors import ProgramError
from aferir.model.network import Network, method_by_name
from aferir.model.plan import Parameter
from aferir.model.record import Series
from aferir.programs.network.over_links import OverLinks
from aferir.programs.network.sweep import NETWORK
from aferir.programs.npb.ranks import NPB_MPI
from tests.unit.programs.taking import command_of, wrong_with

FOLDER = PurePosixPath("/run/job")
NPB: dict[str, Parameter] = {"kernel": "is", "class": "S", "processes": 4}


def job(method: str, ranks_in: ranks.RanksIn = "hosts") -> Job:
    return Job(
        network=Network(links=2, rate_bits=10_000_000),
        method=method_by_name(method),
        program=("/opt/program", "--class", "S"),
        ranks=4,
        ranks_in=ranks_in,
    )


def test_ranks_are_shared_out_in_blocks() -> None:
    words = ranks.mpirun(job("single"), FOLDER)
    assert words[-6:-3] == ["host1:2,host2:2", "-n", "4"]
    assert words[-3:] == ["/opt/program", "--class", "S"]


def test_ranks_run_in_the_folder_of_their_job() -> None:
    words = ranks.mpirun(msgspec.structs.replace(job("single"), folder="/home/user"), FOLDER)
    assert words[words.index("--wdir") + 1] == "/home/user"
    assert "--wdir" not in ranks.mpirun(job("single"), FOLDER)


@pytest.mark.parametrize(
    ("method", "subnets"),
    [
        ("single", "10.0.0.0/24"),
        ("mptcp", "10.0.0.0/24"),
        ("multi-rail", "10.0.0.0/24,10.0.1.0/24"),
        ("multipath", "10.1.0.0/24"),
    ],
)
def test_open_mpi_is_told_where_each_method_is_reached(method: str, subnets: str) -> None:
    words = ranks.mpirun(job(method), FOLDER)
    assert words[words.index("btl_tcp_if_include") + 1] == subnets
    assert (words[:2] == ["mptcpize", "run"]) == (method == "mptcp")


@pytest.mark.parametrize("ranks_in", ranks.RANKS_IN)
@pytest.mark.parametrize("method", ["single", "mptcp", "multi-rail", "multipath", "802.3ad"])
def test_a_script_is_one_that_a_shell_can_read(
    tmp_path: Path, method: str, ranks_in: ranks.RanksIn
) -> None:
    text = ranks.script(job(method, ranks_in), "t-", FOLDER, "aferir-1")
    (tmp_path / "script").write_text(text, encoding="utf-8")
    assert subprocess.run(["sh", "-n", tmp_path / "script"], check=False).returncode == 0
    assert text.splitlines()[2].startswith("trap ")
    assert ("lxc-execute" in text) == (ranks_in == "containers")
    assert ("--net=/run/netns/t-${host}c1 " in text) == (ranks_in == "containers")
    assert ("aferir-1-host2" in text) == (ranks_in == "containers")


def printed(program: str) -> str:
    line = "eth{}: {} 0 0 0 0 0 0 0 {} 0\n"
    before = "".join(line.format(link, 10, 20) for link in (0, 1))
    after = line.format(0, 110, 5020) + line.format(1, 10, 20)
    parts = (("links-before", before), ("links-after", after), ("printed", program))
    return "".join(f"== {name}\n{text}\n" for name, text in parts)


def test_the_traffic_of_links_goes_into_the_figures() -> None:
    said = {"program": "npb-mpi-is", "verified": True, "duration_s": 1.0, "throughput_mops": 2.0}
    ran = ranks.read(printed("a word before\n" + json.dumps(said)), job("single"))
    assert ran.link_bytes == {"eth0": 5100, "eth1": 0}
    series = [f for f in NPB_MPI.parse(with_links(ran)) if isinstance(f, Series)]
    assert [(s.metric, s.at, s.values) for s in series] == [
        ("link_traffic_bytes", ("eth0", "eth1"), (5100.0, 0.0))
    ]


def test_a_program_without_a_result_is_an_error() -> None:
    with pytest.raises(ProgramError):
        ranks.read(printed(""), job("single"))
    with pytest.raises(ProgramError):
        with_links(ranks.Ran("no JSON\n", {}))


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"method": "mptcp", "links": 4, "ranks_in": "containers"}, ""),
        ({"links": 4}, "links"),
        ({"method": "carrier pigeon"}, "method"),
        ({"method": "mptcp", "links": 0}, "links"),
        ({"method": "mptcp", "ranks_in": "clouds"}, "ranks_in"),
        ({"method": "mptcp", "mpi": "mpich"}, "mpi"),
        ({"method": "mptcp", "hosts": 8}, "hosts"),
    ],
)
def test_parameters_of_links_are_judged(changes: dict[str, Parameter], wrong: str) -> None:
    assert [said.partition(":")[0] for said in wrong_with(NPB_MPI, NPB | changes)] == [
        wrong
    ] * bool(wrong)


def test_a_sweep_goes_over_links_by_mpi_alone() -> None:
    assert not wrong_with(NETWORK, {"transport": "mpi", "method": "single", "pairs": 2})
    assert wrong_with(NETWORK, {"method": "single"})


def test_the_parameters_are_options_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "npb-mpi-is-openmpi"
    program.write_text("", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("AFERIR_KERNELS", str(tmp_path))
    command = command_of(NPB_MPI, NPB | {"method": "mptcp", "links": 3, "ranks_in": "containers"})
    line = " ".join(command.arguments)
    assert "aggregate run --json --ranks 4 --parameters" in line
    parser = argparse.ArgumentParser()
    verb.configure(parser)
    told = read_options(OverLinks, parser.parse_args(command.arguments[4:]))
    assert told == OverLinks(method="mptcp", links=3, ranks_in="containers")
    assert line.endswith(f"-- {program} --class S")
    assert msgspec.json.encode(command.environment) == b"{}"
