"""What a cluster is asked to be, and what is remembered of one that exists."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from aferir.errors import UsageError

NodeKind = Literal["container", "vm"]
Placement = Literal["spread", "packed", "reserve", "free"]
"""How nodes get the host's CPUs: see `aferir.cluster.placing`."""
Boot = Literal["diskless", "disk"]
"""How workers boot: diskless ones hold in RAM whatever they write, and start afresh."""

FRONT = "front"
MOST_NODES = 250
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")


class Description(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A cluster as it is asked for; what its TOML form holds, too."""

    name: str
    nodes: int = 2
    """The front end is one of them, and computes too."""
    kind: NodeKind = "container"
    cpus: int = 1
    """CPUs of each node; more than the host has in all are shared."""
    memory_bytes: int = 2**30
    """Memory of each node."""
    boot: Boot = "diskless"
    slurm: bool = False
    placement: Placement = "spread"
    """How nodes get the host's CPUs: see `placing`."""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One node of a cluster that exists."""

    name: str
    address: str
    entry: str
    """Entry of the journal: the id of the container or guest that is this node at present."""
    cpus: tuple[int, ...]
    """CPUs of the host that it may use."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster that exists."""

    description: Description
    entry: str
    """Id of the cluster itself in the journal."""
    network: str
    """Id of its network there."""
    image: str
    """Folder of the userland that its nodes started from."""
    nodes: tuple[Node, ...]
    """The front end first."""


def check(asked: Description) -> Description:
    """The same, where it can be made. Errors: UsageError, which says what is wrong."""
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
    return asked


def check_nodes(nodes: int) -> None:
    """Errors: UsageError where a cluster cannot have that many nodes."""
    if not 1 <= nodes <= MOST_NODES:
        raise UsageError(f"a cluster cannot have {nodes} nodes", remedy=f"choose 1 to {MOST_NODES}")


def check_pins(state: State, chosen: Mapping[str, tuple[int, ...]], host: Sequence[int]) -> None:
    """Errors: UsageError where a node or a CPU of the host is not there."""
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


def node_name(number: int) -> str:
    """`front`, `node1`, `node2` ...; the front end has number 0."""
    return FRONT if number == 0 else f"node{number}"


def address(number: int) -> str:
    """Inside the cluster's own network, which no other cluster and no host sees."""
    return f"10.77.0.{number + 1}"


def mac(number: int) -> str:
    """Stays a node's own when it is replaced, so that nobody has to ask for it again."""
    return f"02:00:0a:4d:00:{number + 1:02x}"


def number_of(node: Node) -> int:
    """The place of a node in its cluster, 0 for the front end."""
    return 0 if node.name == FRONT else int(node.name.removeprefix("node"))
