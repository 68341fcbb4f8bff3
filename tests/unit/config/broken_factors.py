"""Factors that vary nothing, or have impossible levels."""

from __future__ import annotations

from tests.unit.config.broken_pieces import EP, EXPERIMENT, GOOD, NATIVE, Broken

BROKEN: dict[str, Broken] = {
    "factor without levels": (
        GOOD + "[factors]\nthreads = []\n",
        "factors.threads", "without", "write",
    ),
    "factor is no list": (
        GOOD + "[factors]\nthreads = 2\n",
        "factors.threads", "whole number", "write",
    ),
    "factor twice the same level": (
        GOOD + "[factors]\nthreads = [1, 1]\n", "factors.threads", "twice", "once",
    ),
    "factor of mixed types": (
        GOOD + '[factors]\nthreads = [1, "b"]\n', "factors.threads", "different types", "one type",
    ),
    "factor with NaN": (
        GOOD + "[factors]\nthreads = [nan]\n",
        "factors.threads[1]", "no level", "finite",
    ),
    "factor level with slash": (
        GOOD.replace('kernel = "ep"\n', "") + '[factors]\nkernel = ["a/b"]\n',
        "factors.kernel[1]", "no level", "write text",
    ),
    "factor that nothing knows": (
        GOOD + "[factors]\nthrads = [1]\n",
        "factors.thrads", "not a key", "threads",
    ),
    "factor that no workload knows": (
        GOOD + "[factors]\narray_bytes = [1048576]\n",
        "factors.array_bytes", "no workload", "choose",
    ),
    "factor that a workload sets": (
        GOOD + "threads = 1\n[factors]\nthreads = [1, 2]\n",
        "factors.threads", "workload[1]", "remove",
    ),
    "factor level that the program refuses": (
        GOOD + "[factors]\nthreads = [1, 0]\n", "factors.threads", "out of range", "from 1",
    ),
    "factor level above the CPUs": (
        GOOD + "[factors]\nthreads = [1, 4]\n", "workload[1]", "4 threads", "oversubscribe",
    ),
    "factor of environments above the host": (
        GOOD + '[factors]\n"environment.cpus" = [1, 8]\n',
        "factors.environment.cpus[2]", "has 2", "1 to 2",
    ),
    "factor of environments above the pins": (
        EXPERIMENT + NATIVE + "pin = [0]\n" + EP + '[factors]\n"environment.cpus" = [1, 2]\n',
        "environment[1].pin", "names 1 CPUs for `cpus = 2`", "at least as many",
    ),
    "factor of pinning without pins": (
        GOOD + '[factors]\n"environment.pinned" = [true, false]\n',
        "environment.pinned", "no CPUs", "pin = [0]",
    ),
    "factor of memory without unit": (
        GOOD + '[factors]\n"environment.memory" = [5]\n',
        "factors.environment.memory[1]", "whole", "1 GiB",
    ),
    "factor of an unknown field": (
        GOOD + '[factors]\n"environment.cpu" = [1]\n',
        "factors.environment.cpu", "not a key", "environment.cpus",
    ),
    "nested factor table": (
        GOOD + "[factors.environment]\ncpus = []\n",
        "factors.environment.cpus", "without", "[1, 2]",
    ),
    "too many levels": (
        GOOD + f"[factors]\nthreads = {list(range(1, 66))}\n", "factors.threads", "65 levels", "64",
    ),
    "too many cells": (
        EXPERIMENT + "oversubscribe = true\n" + NATIVE + "".join(
            EP.replace('"ep"', f'"ep{k}"', 1) for k in range(17)
        ) + f"[factors]\nthreads = {list(range(1, 65))}\n",
        "factors", "1088 cells", "at most 1000",
    ),
    "too many environments": (
        EXPERIMENT + NATIVE * 17 + EP, "environment", "there are 17", "at most 16",
    ),
}  # fmt: skip
