"""A host on which environments may run, as an experiment file describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from aferir.model.cloud import Wanted

ADDRESS = "{address}"
"""Word of `reach` that stands for the address of a cloud's instance."""
ON_HOST = "native"
"""Kind of environment in which programs run on the host itself."""


def kind_of(facts: Mapping[str, Any]) -> str:
    """Properties that hosts must share to be compared, in words; empty if they are unknown."""
    machine = facts.get("machine", {})
    model, cpus = machine.get("cpu_model"), machine.get("cpus")
    return ", ".join([*([str(model)] if model else []), *([f"{cpus} CPUs"] if cpus else [])])


class SlurmKeys(msgspec.Struct, frozen=True, kw_only=True, tag="slurm"):
    """How a Slurm cluster is reached, and options for its allocations."""

    by: tuple[str, ...] = ()
    """Command prefix (e.g. ssh and a host) that runs a command where salloc(1) and srun(1) are
    installed; (): on this host.
    """
    options: tuple[str, ...] = ()
    """Further options of salloc."""


class KubernetesKeys(msgspec.Struct, frozen=True, kw_only=True, tag="kubernetes"):
    """How a Kubernetes cluster is reached, and what its pods run."""

    by: tuple[str, ...] = ()
    """Command prefix (e.g. ssh and a host) that runs a command where kubectl is installed; (): on
    this host.
    """
    namespace: str = "default"
    image: str = "python:3.11"
    """Image of the pods, which must have a shell and Python."""


class AllocationSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Machines that are allocated for one run and released at its end."""

    name: str
    """Name in the experiment file, e.g. `slurm:4`."""
    nodes: int
    keys: SlurmKeys | KubernetesKeys


class Price(msgspec.Struct, frozen=True):
    """Price for an hour of use of a host."""

    amount: float
    currency: str
    """Three letters of ISO 4217: `EUR`."""


class HostSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A host: the command that reaches it, and the resources that may be used."""

    name: str
    reach: tuple[str, ...]
    """Command that runs a shell there when the shell's name is appended, and connects its standard
    input and output: `("ssh", "node1")`, `("podman", "exec", "-i", "box")`.
    """
    sudo: bool = False
    """True if the agent is started as root by sudo(8), which must not ask for a password."""
    cpus: int | None = None
    """Largest number of the host's CPUs to use; None: all that are found."""
    power: str = ""
    """Source of the host's power, as the host names it, e.g. `rapl`; empty: none is read."""
    allocated: AllocationSpec | None = None
    """Allocation that provides this host; `reach` is known once it has been made. None: the host
    exists already.
    """
    number: int = 0
    """Number of the host within its allocation, from 1; 0: the host is part of none."""
    memory_bytes: int | None = None
    """Largest amount of the host's memory to use, in bytes; None: all that is found."""
    cloud: Wanted | None = None
    """Instances of a cloud that serve as this host, one for each environment allocated on it; its
    address replaces `{address}` in `reach`. None: the host exists already.
    """
    price_per_hour: Price | None = None
    """Price of an hour there; None: results have no cost."""
