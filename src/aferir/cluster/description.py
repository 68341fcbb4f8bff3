"""Description of a wanted cluster, and the stored state of an existing one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from aferir.errors import UsageError

NodeKind = Literal["container", "vm"]
Placement = Literal["spread", "packed", "reserve", "free"]
"""Ways of assigning the host's CPUs to nodes: see `aferir.cluster.placing`."""
Boot = Literal["diskless", "disk", "pxe"]
"""Ways of booting workers: diskless ones hold all they write in RAM, and start afresh each time; by
PXE, they get kernel and root from the front end over the network as well.
"""

Interface = Literal["virtio", "e1000", "rtl8139"]
"""Network devices that a guest can have."""

FRONT = "front"
MOST_NODES = 250
ACCOUNTING_BYTES = 192 * 2**20
"""Least memory with accounting: 124 MiB were in use at most in a container without jobs, half of
them by the database, whose files were most of the rest.
"""
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")


class Description(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A wanted cluster; also the keys of its TOML file."""

    name: str
    nodes: int = 2
    """Number of nodes, including the front end, which computes as well."""
    kind: NodeKind = "container"
    cpus: int = 1
    """CPUs of each node; nodes share CPUs if the host has fewer in total."""
    memory_bytes: int = 2**30
    """Memory of each node in bytes."""
    boot: Boot = "diskless"
    slurm: bool = False
    accounting: bool = False
    """Whether Slurm keeps the records of jobs in a database on the front end, for sacct."""
    placement: Placement = "spread"
    """Way of assigning the host's CPUs to nodes: see `placing`."""
    network_device: Interface | None = None
    """Network device of guests. If one is chosen, guests boot the distribution's whole kernel, the
    one with all drivers; None: virtio, and the image's own kernel.
    """


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One node of an existing cluster."""

    name: str
    address: str
    entry: str
    """ID of the journal entry of the container or guest that is this node at present."""
    cpus: tuple[int, ...]
    """CPUs of the host that the node may use."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """State of an existing cluster."""

    description: Description
    entry: str
    """ID of the cluster's journal entry."""
    network: str
    """ID of the journal entry of the cluster's network."""
    image: str
    """Folder of the userland from which the nodes were started."""
    nodes: tuple[Node, ...]
    """All nodes, the front end first."""


def check(asked: Description) -> Description:
    """Check a description, and return it. Errors: UsageError that says what is wrong."""
    if not _NAME.fullmatch(asked.name):
        raise UsageError(
            f"`{asked.name}` cannot be the name of a cluster",
            remedy="small letters, digits and -, a letter first, at most 31 of them",
        )
    check_nodes(asked.nodes)
    if asked.cpus < 1:
        raise UsageError(f"a node cannot have {asked.cpus} CPUs", remedy="give it 1 or more")
    if asked.memory_bytes < 2**26:
        raise UsageError("a node needs at least 64 MiB of memory", remedy="raise --memory")
    if asked.accounting:
        _check_accounting(asked)
    return asked


def _check_accounting(asked: Description) -> None:
    """Raise UsageError if the described cluster cannot keep the records of jobs."""
    if not asked.slurm:
        raise UsageError(
            "accounting is of Slurm's jobs, and the cluster is to be without Slurm",
            remedy="add --slurm, or slurm = true to its file",
        )
    if asked.memory_bytes < ACCOUNTING_BYTES:
        raise UsageError(
            f"a front end with accounting needs at least {ACCOUNTING_BYTES >> 20} MiB of memory",
            remedy="raise --memory, or leave out accounting",
        )


def check_nodes(nodes: int) -> None:
    """Raise UsageError if a cluster cannot have `nodes` nodes."""
    if not 1 <= nodes <= MOST_NODES:
        raise UsageError(f"a cluster cannot have {nodes} nodes", remedy=f"choose 1 to {MOST_NODES}")


def check_pins(state: State, chosen: Mapping[str, tuple[int, ...]], host: Sequence[int]) -> None:
    """Raise UsageError if a node, or a CPU of the host, does not exist."""
    known = [node.name for node in state.nodes]
    for name, cpus in chosen.items():
        if name not in known:
            raise UsageError(
                f"`{state.description.name}` has no {name}", remedy=f"it has {', '.join(known)}"
            )
        if not cpus or set(cpus) - set(host):
            raise UsageError(
                f"{name} cannot be pinned to CPU {','.join(map(str, cpus)) or 'none'}",
                remedy=f"this host lends {','.join(map(str, host))}",
            )


def numbers_of(nodes: int, hosts: int, place: int) -> range:
    """Numbers of the nodes on one of several hosts; `place` counts the hosts from 0.

    All hosts have equally many nodes, or the first ones one more than the others.
    """
    least, more = divmod(nodes, hosts)
    first = place * least + min(place, more)
    return range(first, first + least + (place < more))


def node_name(number: int) -> str:
    """Name of a node: `front` for number 0, then `node1`, `node2` ..."""
    return FRONT if number == 0 else f"node{number}"


def address(number: int) -> str:
    """Address of a node in the cluster's own network, which is not visible from outside."""
    return f"10.77.0.{number + 1}"


def mac(number: int) -> str:
    """MAC address of a node; a replacement keeps it, so that ARP entries stay valid."""
    return f"02:00:0a:4d:00:{number + 1:02x}"


def number_of(node: Node) -> int:
    """Number of a node in its cluster, 0 for the front end."""
    return 0 if node.name == FRONT else int(node.name.removeprefix("node"))
