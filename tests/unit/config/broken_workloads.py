"""Workloads that cannot run as they are written."""

from __future__ import annotations

from tests.unit.config.broken_pieces import (
    BOX,
    CG,
    EP,
    EXPERIMENT,
    GOOD,
    GUEST,
    LAB,
    NATIVE,
    Broken,
)

BROKEN: dict[str, Broken] = {
    "unknown key of workload": (
        GOOD + "thread = 1\n",
        "workload[1].thread", "not a key", "threads",
    ),
    "key with control character": (GOOD + '"a\\u0000" = 1\n', "workload[1]", "not a key", "choose"),
    "parameter of another program": (
        GOOD + 'array_bytes = "1 MiB"\n', "workload[1].array_bytes", "not a key", "choose one of",
    ),
    "unknown program": (
        GOOD.replace('"npb"', '"npbb"'), "workload[1].program", "not known", "`npb`",
    ),
    "program missing": (
        EXPERIMENT + NATIVE + '[[workload]]\nname = "ep"\n',
        "workload[1].program", "is missing", "npb",
    ),
    "unknown kernel": (
        GOOD.replace('kernel = "ep"', 'kernel = "epp"'), "workload[1].kernel", "not known", "`ep`",
    ),
    "kernel missing": (
        GOOD.replace('kernel = "ep"\n', ""), "workload[1].kernel", "is missing", "choose one of",
    ),
    "lower-case class": (
        GOOD.replace('class = "S"', 'class = "s"'), "workload[1].class", "not known", "`S`",
    ),
    "class too large to know": (
        GOOD.replace('class = "S"', 'class = "F"'), "workload[1].class", "not known", "choose one",
    ),
    "threads zero": (GOOD + "threads = 0\n", "workload[1].threads", "out of range", "from 1"),
    "threads negative": (GOOD + "threads = -2\n", "workload[1].threads", "out of range", "from 1"),
    "threads true": (GOOD + "threads = true\n", "workload[1].threads", "true or false", "whole"),
    "threads as text": (GOOD + 'threads = "2"\n', "workload[1].threads", "is text", "whole"),
    "threads beyond 64 bits": (
        GOOD + f"threads = {2**70}\n", "workload[1].threads", "cannot be a parameter", "finite",
    ),
    "threads a list": (GOOD + "threads = [1]\n", "workload[1].threads", "cannot be", "write text"),
    "threads a date": (
        GOOD + "threads = 2024-01-01\n",
        "workload[1].threads", "cannot be", "write",
    ),
    "threads NaN": (GOOD + "threads = nan\n", "workload[1].threads", "cannot be", "finite"),
    "threads above cpus": (GOOD + "threads = 3\n", "workload[1]", "3 threads", "oversubscribe"),
    "threads above the environment's cpus": (
        EXPERIMENT + NATIVE + BOX + "cpus = 1\n" + EP + "threads = 2\n",
        "workload[1]", "2 threads in `box`", "lower `threads`",
    ),
    "array size without unit": (
        EXPERIMENT + NATIVE + '[[workload]]\nname = "m"\nprogram = "memory-bandwidth"\n'
        'array_bytes = "big"\n',
        "workload[1].array_bytes", "not a size", "a number and a unit",
    ),
    "workload called allocation": (
        GOOD.replace('name = "ep"', 'name = "allocation"'),
        "workload[1].name", "recorded", "rename",
    ),
    "duplicate workload": (GOOD + EP, "workload[2].name", "workload[1]", "another name"),
    "workload slower than the experiment": (
        EXPERIMENT + 'time_limit = "1 min"\n' + NATIVE + EP + 'time_limit = "2 min"\n',
        "workload[1].time_limit", "longer than the whole", "shorten",
    ),
    "workload in an unknown environment": (
        GOOD + 'environments = ["nativ"]\n',
        "workload[1].environments", "no environment", "`native`",
    ),
    "workload in no environment": (
        GOOD + "environments = []\n", "workload[1].environments", "empty", "remove the key",
    ),
    "workload twice in an environment": (
        GOOD + 'environments = ["native", "native"]\n',
        "workload[1].environments", "twice", "each once",
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
    "memory too little for the program": (
        EXPERIMENT + NATIVE + BOX + EP.replace('"ep"\nclass = "S"', '"ft"\nclass = "B"'),
        "workload[1]", "needs about 1298 MiB", "more memory",
    ),
    "memory too little for program and guest": (
        EXPERIMENT + NATIVE + GUEST + 'memory = "448 MiB"\n'
        + EP.replace('"ep"\nclass = "S"', '"mg"\nclass = "A"'),
        "workload[1]", "in `guest`", "more memory",
    ),
}  # fmt: skip
