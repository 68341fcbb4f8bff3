"""A virtual cluster over several hosts, each of which runs a part of its nodes.

Each part has SSH keys of its own; private keys do not leave their host, and public keys are sent to
the other parts. The first node's mpirun knows all nodes, as in a cluster on one host.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager

from aferir.cluster import configuration
from aferir.cluster.description import address, node_name, numbers_of
from aferir.cluster.instance import AUTHORIZED, KNOWN
from aferir.hosts import enter
from aferir.hosts.environment import RemoteInstance
from aferir.model.variables import ENTER, PROGRAMS
from aferir.programs.base import PROGRAM_FOLDER

_STEP_S = 120.0


class Clustered:
    """The parts of a cluster; nodes of each trust the nodes of all others."""

    def __init__(self, made: Sequence[RemoteInstance], nodes: int) -> None:
        """Send each part the public keys of all parts; the whole cluster has `nodes` nodes.

        Errors: ProgramError if a step fails.
        """
        firsts = [numbers_of(nodes, len(made), place)[0] for place in range(len(made))]
        self.names: Sequence[str] = tuple(map(node_name, firsts))
        self.addresses: Sequence[str] = tuple(map(address, firsts))
        users = "".join(_read(one, "id_ed25519.pub") for one in made)
        hosts = "".join(configuration.known_hosts(_read(one, "host_key.pub")) for one in made)
        for one in made:
            one.write(AUTHORIZED, users.encode())
            one.write(KNOWN, hosts.encode())
        made[0].write(enter.PATH, enter.by_ssh("ssh").encode(), 0o755)

    def variables(self) -> dict[str, str]:
        """Environment variables by which a program reaches the other nodes."""
        return {ENTER: str(enter.PATH), PROGRAMS: str(PROGRAM_FOLDER)}

    def over_all(self, line: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command unchanged: the cluster's own mpirun places ranks on all nodes."""
        return line

    def served(self, timeout_s: float | None) -> AbstractContextManager[None]:
        """Do nothing: the nodes reach one another by ssh, without the controller."""
        return contextlib.nullcontext()

    def release(self) -> None:
        """Do nothing: the keys are removed with their parts."""


def _read(part: RemoteInstance, name: str) -> str:
    """Text of a file that all nodes of a part share."""
    return part.run(["cat", f"{configuration.FOLDER}/{name}"], timeout_s=_STEP_S).stdout
