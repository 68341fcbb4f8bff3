"""Environments that cannot be made on the tests' machine."""

from __future__ import annotations

from tests.unit.config.broken_pieces import BOX, EP, EXPERIMENT, GUEST, LAB, NATIVE, Broken

BROKEN: dict[str, Broken] = {
    "environment with brackets": (
        EXPERIMENT + NATIVE + BOX.replace('"box"', '"box[1]"') + EP,
        "environment[2].name", "no name", "letters",
    ),
    "unknown key of environment": (
        EXPERIMENT + NATIVE + "cpu = 1\n" + EP, "environment[1].cpu", "not a key", "`cpus`",
    ),
    "unknown kind": (
        EXPERIMENT + NATIVE.replace('kind = "native"', 'kind = "nativ"') + EP,
        "environment[1].kind", "not known", "did you mean `native`",
    ),
    "short name of a kind": (
        EXPERIMENT + NATIVE.replace('kind = "native"', 'kind = "podman"') + EP,
        "environment[1].kind", "not known", 'write kind = "oci", engine = "podman"',
    ),
    "kind missing": (
        EXPERIMENT + '[[environment]]\nname = "native"\n' + EP,
        "environment[1].kind", "is missing", "add `kind",
    ),
    "kind is a number": (
        EXPERIMENT + '[[environment]]\nname = "native"\nkind = 1\n' + EP,
        "environment[1].kind", "not known", "choose one of",
    ),
    "duplicate environment": (
        EXPERIMENT + NATIVE + BOX + BOX + EP,
        "environment[3].name", "environment[2]", "another name",
    ),
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
    "environment list of numbers": (
        "environment = [1]\n" + EXPERIMENT + EP,
        "environment[1]", "a whole number", "[[environment]]",
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
