"""Findings: one line for all that works, each lack once, and the packages to install."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from aferir.cli.overview import FIRST_KINDS, FIRST_PROGRAMS, Line, lines, sections, to_install
from aferir.machine import packages
from aferir.model.finding import Finding

ROOT = Path(__file__).parents[3]
WELL = Finding("npb", "ok", "8 programs are installed")
NO_NPTCP = Finding(
    "netpipe",
    "missing",
    "no `NPtcp`",
    "sudo apt-get install -y netpipe-tcp",
)
NO_NPOPENMPI = Finding("netpipe", "missing", "no `NPopenmpi`", "apt-get install netpipe-openmpi")
NO_PYTHON = Finding(
    "clock", "degraded", "no module", "apt-get install python3-dev, then install aferir again"
)
VIRTUAL = Finding("vm", "degraded", "emulated", "use a host with hardware virtualisation")


def test_what_the_first_run_needs_is_what_its_file_asks_for() -> None:
    document = tomllib.loads((ROOT / "experiments" / "this-machine.toml").read_text())
    assert {one["kind"] for one in document["environment"]} == set(FIRST_KINDS)
    assert {one["program"] for one in document["workload"]} == set(FIRST_PROGRAMS)


def test_what_is_well_is_one_line_and_what_one_command_mends_another() -> None:
    well, netpipe = lines([WELL, WELL, NO_NPTCP, NO_NPOPENMPI])
    assert well == Line("ok", ("npb",))
    assert netpipe.subjects == ("netpipe",)
    assert netpipe.message == "no `NPtcp`; no `NPopenmpi`"
    assert netpipe.remedy == packages.install_command(["netpipe-tcp", "netpipe-openmpi"])


def test_something_that_is_well_in_part_is_not_called_well() -> None:
    assert [one.status for one in lines([WELL, Finding("npb", "missing", "no MPI")])] == ["missing"]


def test_one_remedy_for_several_things_is_said_once() -> None:
    other = Finding("cluster", "degraded", "slow", VIRTUAL.remedy)
    (line,) = lines([VIRTUAL, other])
    assert line.subjects == ("vm", "cluster")
    assert line.remedy == VIRTUAL.remedy


def test_all_findings_have_a_line_where_they_are_asked_for() -> None:
    findings = [WELL, NO_NPTCP, NO_NPOPENMPI, VIRTUAL]
    assert len(lines(findings, every=True)) == len(findings)


def test_what_two_kinds_need_is_said_once_and_the_first_run_comes_first() -> None:
    shared = Finding("container", "ok", "LXC 5")
    first, environments, programs = sections(
        [], {"cluster": [shared], "container": [shared]}, {"netpipe": [NO_NPTCP], "npb": [WELL]}
    )
    assert first.findings == (shared, WELL)
    assert environments.findings == ()
    assert programs.findings == (NO_NPTCP,)


def test_packages_are_those_of_all_or_of_a_chapter_or_of_a_thing() -> None:
    findings = [WELL, NO_NPTCP, NO_NPOPENMPI, NO_PYTHON, VIRTUAL]
    assert to_install(findings) == ("netpipe-openmpi", "netpipe-tcp", "python3-dev")
    assert to_install(findings, ["network"]) == ("netpipe-openmpi", "netpipe-tcp")
    assert to_install(findings, ["clock"]) == ("python3-dev",)
    assert to_install(findings, ["run"]) == ()


@pytest.mark.parametrize(
    ("remedy", "names"),
    [
        ("apt-get install a-b c++1, then install aferir again", ("a-b", "c++1")),
        ("sudo apt-get install --no-install-recommends -y lxc uidmap", ("lxc", "uidmap")),
        ("this host has no apt-get; on Debian or Ubuntu: apt-get install lxc", ("lxc",)),
        ("apt-get install nginx-light.", ("nginx-light",)),
        ("apt-get install lxc then start it", ("lxc",)),
        ("use a host with hardware virtualisation", ()),
        ("", ()),
    ],
)
def test_packages_are_read_out_of_remedies(remedy: str, names: tuple[str, ...]) -> None:
    assert packages.named_in(remedy) == names
