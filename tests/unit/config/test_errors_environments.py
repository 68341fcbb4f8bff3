"""Broken environments of experiment files: each is refused with place, reason and remedy."""

from __future__ import annotations

import pytest

from tests.unit.config.broken_files import (
    BOX,
    CG,
    EP,
    EXPERIMENT,
    GUEST,
    LAB,
    NATIVE,
    check_refused,
)

# name: (content, the path that must be named, the reason, the remedy)
BROKEN: dict[str, tuple[str, str, str, str]] = {
    "nodes of what is no cluster": (
        EXPERIMENT + NATIVE + "nodes = 2\n" + EP,
        "environment[1].nodes", "means nothing for kind native", "remove it",
    ),
    "another release for guests": (
        EXPERIMENT + NATIVE + LAB + 'node_kind = "vm"\nsuite = "trixie"\n' + EP,
        "environment[2].suite", "guests have the host's release", "remove it",
    ),
    "quota of a cluster": (
        EXPERIMENT + NATIVE + LAB + "cpu_quota = 0.5\n" + EP,
        "environment[2].cpu_quota", "means nothing for kind cluster", "remove it",
    ),
    "cluster that the host cannot hold": (
        EXPERIMENT + NATIVE + LAB + 'nodes = 5\nmemory = "1 GiB"\n' + EP,
        "workload[1]", "5 instances of `lab` with 1 GiB each", "nodes",
    ),
    "more processes than a cluster's CPUs": (
        EXPERIMENT + NATIVE + LAB + "nodes = 3\n" + CG + "processes = 4\n",
        "workload[1]", "`lab`, which has 3 CPUs", "oversubscribe",
    ),
    "packages that no image of clusters gets": (
        EXPERIMENT + NATIVE + LAB + '[[workload]]\nname = "b"\nprogram = "blast"\n',
        "workload[1].environments", "`lab` is a cluster, where `blast` cannot run", "nspawn",
    ),
    "cluster with MPICH": (
        EXPERIMENT + NATIVE + LAB + CG + 'mpi = "mpich"\n',
        "workload[1].mpi", "nodes of `lab` have openmpi", "remove it",
    ),
    "environment is one table": (
        EXPERIMENT + NATIVE.replace("[[environment]]", "[environment]") + EP,
        "environment", "a table", "two brackets",
    ),
    "environment list of numbers": (
        "environment = [1]\n" + EXPERIMENT + EP,
        "environment[1]", "a whole number", "[[environment]]",
    ),
    "too many environments": (
        EXPERIMENT + NATIVE * 17 + EP, "environment", "there are 17", "at most 16",
    ),
    "cpus zero": (
        EXPERIMENT + NATIVE + "cpus = 0\n" + EP,
        "environment[1].cpus", "range", "from 1",
    ),
    "cpus over the host's": (
        EXPERIMENT + NATIVE + "cpus = 3\n" + EP, "environment[1].cpus", "host has 2", "1 to 2",
    ),
    "memory over the host's": (
        EXPERIMENT + NATIVE + BOX + 'memory = "5 GiB"\n' + EP,
        "environment[2].memory", "this host has", "ask for less",
    ),
    "memory without unit": (
        EXPERIMENT + NATIVE + BOX + "memory = 1024\n" + EP,
        "environment[2].memory", "whole number", "1 GiB",
    ),
    "memory with a bad unit": (
        EXPERIMENT + NATIVE + BOX + 'memory = "1 GX"\n' + EP,
        "environment[2].memory", "`GX` is no unit", "1 GiB",
    ),
    "memory in two parts": (
        EXPERIMENT + NATIVE + BOX + 'memory = "1 GiB 2 MiB"\n' + EP,
        "environment[2].memory", "one number and one unit", "1 GiB",
    ),
    "memory too little for a guest": (
        EXPERIMENT + NATIVE + GUEST + 'memory = "64 MiB"\n' + EP,
        "environment[2].memory", "too little", "128 MiB",
    ),
    "memory too little for the program": (
        EXPERIMENT + NATIVE + BOX + EP.replace('"ep"\nclass = "S"', '"ft"\nclass = "B"'),
        "workload[1]", "needs about 1298 MiB", "more memory",
    ),
    "memory too little for program and guest": (
        EXPERIMENT + NATIVE + GUEST + 'memory = "448 MiB"\n'
        + EP.replace('"ep"\nclass = "S"', '"mg"\nclass = "A"'),
        "workload[1]", "in `guest`", "more memory",
    ),
    "memory too little for anything": (
        EXPERIMENT + NATIVE + 'memory = "1 MiB"\n' + EP,
        "environment[1].memory", "too little", "16 MiB",
    ),
    "quota zero": (
        EXPERIMENT + NATIVE + BOX + "cpu_quota = 0\n" + EP,
        "environment[2].cpu_quota", "range", "above 0",
    ),
    "quota above one": (
        EXPERIMENT + NATIVE + BOX + "cpu_quota = 1.5\n" + EP,
        "environment[2].cpu_quota", "range", "up to 1",
    ),
    "pin outside the host": (
        EXPERIMENT + NATIVE + "pin = [0, 7]\n" + EP, "environment[1].pin", "no CPU 7", "0, 1",
    ),
    "pin twice": (
        EXPERIMENT + NATIVE + "pin = [0, 0]\ncpus = 2\n" + EP,
        "environment[1].pin", "twice", "each once",
    ),
    "pin empty": (
        EXPERIMENT + NATIVE + "pin = []\n" + EP,
        "environment[1].pin", "is empty", "pin = [1]",
    ),
    "pin true": (
        EXPERIMENT + NATIVE + "pin = [true]\n" + EP,
        "environment[1].pin", "not a whole number", "whole number",
    ),
    "pin fewer than cpus": (
        EXPERIMENT + NATIVE + "pin = [0]\ncpus = 2\n" + EP,
        "environment[1].pin", "names 1 CPUs", "at least as many",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_with_place_reason_and_remedy(name: str) -> None:
    check_refused(*BROKEN[name])
