"""Runs commands on the nodes of a cluster."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Sequence

from aferir.cluster import configuration, manager, storing
from aferir.cluster.description import Node, State
from aferir.errors import ProgramError, UsageError
from aferir.linux import process, undo


def run(name: str, command: Sequence[str], *, root: bool = False, node: str | None = None) -> int:
    """Run a command with this process's standard streams; returns its exit code.

    Errors: ProgramError if it failed because a node died meanwhile, or does not run.
    """
    state = storing.read(name)
    mark = uuid.uuid4().hex
    before = {n.name: n.entry for n in state.nodes}
    child = process.start(
        _entering(state, command, root=root, node=node, variables={undo.MARK: mark}),
        stdin=subprocess.DEVNULL if os.isatty(0) else 0,
        stdout=sys.stdout.fileno(),
        stderr=sys.stderr.fileno(),
    )
    try:
        code = child.wait()
    except BaseException:
        process.end(child)
        undo.kill_marked(mark)
        raise
    if code != 0 and (dead := _lost(name, before)):
        raise ProgramError(
            f"`{' '.join(command)}` failed because {', '.join(dead)} died",
            remedy=f"run it again once `aferir cluster status {name}` shows all nodes running",
        )
    return code if code >= 0 else 128 - code


def shell_command(name: str, *, root: bool = False, node: str | None = None) -> list[str]:
    """Command line of a login shell, to be executed with a terminal."""
    return _entering(storing.read(name), ["bash", "-l"], root=root, node=node, variables={})


def _entering(
    state: State,
    command: Sequence[str],
    *,
    root: bool,
    node: str | None,
    variables: dict[str, str],
) -> list[str]:
    made = manager.backend(state.description)
    chosen = _chosen(state, node)
    if not manager.is_alive(made, chosen):
        name = state.description.name
        raise ProgramError(
            f"{chosen.name} of `{name}` does not run", remedy=f"aferir cluster up {name}"
        )
    inside = configuration.user_command(command, root=root)
    return made.enter(manager.place_of(state), chosen, inside, variables)


def _chosen(state: State, name: str | None) -> Node:
    """The node called `name`, or the front end. Errors: UsageError if there is none."""
    for node in state.nodes:
        if name in (None, node.name):
            return node
    names = ", ".join(node.name for node in state.nodes)
    raise UsageError(f"`{state.description.name}` has no {name}", remedy=f"it has {names}")


def _lost(name: str, before: dict[str, str]) -> list[str]:
    """Nodes that have died or were replaced since `before` was read."""
    state = storing.find(name)
    if state is None:
        return list(before)
    made = manager.backend(state.description)
    return [
        node.name
        for node in state.nodes
        if node.name in before
        and (node.entry != before[node.name] or not manager.is_alive(made, node))
    ]
