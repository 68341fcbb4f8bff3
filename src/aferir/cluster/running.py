"""Runs commands on the nodes of a cluster."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath

from aferir.cluster import configuration, manager, storing
from aferir.cluster.description import Node, State
from aferir.errors import AferirError, ProgramError, UsageError
from aferir.linux import process, undo

_LAUNCHERS = ("mpirun", "mpiexec")
"""Names of programs whose job cannot go on without a node. Left alone, jobs whose node had died
ended after 10 to 78 s (20 times): connections to it are reset only by the node that replaces it.
"""
_LOOK_S = 2.0
"""Seconds between checks whether all nodes are alive; the end of a node's process is noticed at
once.
"""
_KILL = """
for file in $(grep -slzxF "$AIM" /proc/[0-9]*/environ); do
  pid=${file#/proc/}; kill -KILL "${pid%/environ}"
done
true
"""
"""Script that kills every process with the line AIM in its environment."""
_KILL_LIMIT_S = 30.0


def run(name: str, command: Sequence[str], *, root: bool = False, node: str | None = None) -> int:
    """Run a command with this process's standard streams; returns its exit code.

    An MPI job is ended when a node dies. Errors: ProgramError if the command failed because a node
    died meanwhile, or does not run.
    """
    state = storing.read(name)
    mark = uuid.uuid4().hex
    before = {n.name: n.entry for n in state.nodes}
    launches = PurePosixPath(command[0]).name in _LAUNCHERS
    child = process.start(
        _entering(state, command, root=root, node=node, variables={undo.MARK: mark}),
        stdin=subprocess.DEVNULL if os.isatty(0) else 0,
        stdout=sys.stdout.fileno(),
        stderr=sys.stderr.fileno(),
    )
    try:
        if launches and not outlives(
            child.pid, manager.processes(state), lambda: bool(_lost(name, before))
        ):
            _end(state, _chosen(state, node), child, mark)
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


def outlives(pid: int, nodes: Iterable[int], lost: Callable[[], bool]) -> bool:
    """Wait until a child process ends; False if `lost` says before that a node died.

    `lost` is called at once, every `_LOOK_S`, and when one of `nodes` ends, which are processes
    that end with their node. The child remains to be waited for.
    """
    with contextlib.ExitStack() as stack:
        waiting = select.poll()

        def watch(process_id: int) -> int:
            handle = os.pidfd_open(process_id)
            stack.callback(os.close, handle)
            waiting.register(handle, select.POLLIN)
            return handle

        end = watch(pid)
        for node in nodes:
            with contextlib.suppress(ProcessLookupError):
                watch(node)
        while not lost():
            ended = [handle for handle, _ in waiting.poll(_LOOK_S * 1000)]
            if end in ended:
                return True
            for handle in ended:
                waiting.unregister(handle)
        return False


def _end(state: State, node: Node, child: subprocess.Popen[str], mark: str) -> None:
    """End a command and all that it started on `node`, also in a kernel of the node's own."""
    made = manager.backend(state.description)
    if made.own_kernel and manager.is_alive(made, node):
        aim = {"AIM": f"{undo.MARK}={mark}"}
        inside = made.enter(manager.place_of(state), node, ["sh", "-c", _KILL], aim)
        with contextlib.suppress(AferirError):  # it dies with the node then
            process.run(inside, timeout_s=_KILL_LIMIT_S)
    undo.kill_marked(mark)  # first: Open MPI 4.1 crashes on a SIGINT that comes while it aborts
    process.end(child)


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
