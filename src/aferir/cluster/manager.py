"""Creates, changes, repairs and removes clusters; each is locked meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from aferir.cluster import (
    accounting,
    configuration,
    files,
    netboot,
    network,
    placing,
    slurm,
    storing,
)
from aferir.cluster.containers import ContainerNodes
from aferir.cluster.description import (
    Description,
    Node,
    NodeKind,
    State,
    address,
    check,
    check_nodes,
    check_pins,
    node_name,
    number_of,
    numbers_of,
)
from aferir.cluster.guests import GuestNodes
from aferir.cluster.nodes import Nodes, Place, in_turn
from aferir.environments.lxc import container
from aferir.environments.lxc import spec as container_spec
from aferir.environments.qemu import spec as guest_spec
from aferir.environments.qemu import vm
from aferir.errors import UsageError
from aferir.image import userland
from aferir.image.progress import Progress, silent
from aferir.linux import affinity, journal, namespace, process
from aferir.machine import needed, processors
from aferir.model.overlay import Overlay

KIND = "cluster"
PACKAGES = (
    *("openmpi-bin", "openssh-client", "openssh-server", "libgfortran5"),
    *netboot.PACKAGES,
)
"""Packages of the nodes' userland, in addition to those of every instance."""
_BACKENDS: Mapping[NodeKind, Callable[[], Nodes]] = {
    "container": ContainerNodes,
    "vm": GuestNodes,
}
_BACK = {
    container_spec.KIND: container.give_back,
    guest_spec.KIND: vm.give_back,
    namespace.KIND: namespace.give_back,
}


def of_kind(kind: NodeKind) -> Nodes:
    """The backend for nodes of kind `kind`."""
    return _BACKENDS[kind]()


def backend(description: Description) -> Nodes:
    """The backend for the nodes of a cluster."""
    return of_kind(description.kind)


def create(asked: Description, progress: Progress = silent) -> State:
    """Create a cluster that is ready for MPI.

    Errors: UsageError if it is not possible, MissingError if this machine lacks something,
    ProgramError if a node does not start; nothing is left then.
    """
    description = check(asked)
    require(description)
    base = userland.ensure(progress, packages(description))
    return create_from(description, lambda _: base.folder, progress)


def create_from(
    description: Description,
    furnish: Callable[[Path], Path],
    progress: Progress = silent,
    *,
    host: Sequence[int] = (),
    keep: bool = True,
    overlay: Overlay | None = None,
) -> State:
    """Create a cluster from any userland.

    `furnish` receives the cluster's new folder, in which it may create a home, and returns the
    folder of the userland. The nodes run on the CPUs `host`, by default on all of this process.
    Without `keep`, the cluster is not listed, and becomes an orphan if this process dies; its
    creator must undo it. With `overlay`, only this host's nodes of a cluster on several hosts are
    created, and their network is joined to the other hosts'.
    """
    hosts, at = (1, 0) if overlay is None else (len(overlay.hosts), overlay.place)
    numbers = numbers_of(description.nodes, hosts, at)
    kept_by = storing.state_file(description.name)
    details = {"name": description.name}
    entry = journal.write(KIND, details, kept_by=kept_by)
    try:
        with storing.claimed(description.name, entry) as folder:
            base = furnish(folder)
            chosen = _placed(description, host, len(numbers))
            files.make(folder, description, _all(chosen), len(numbers))
            wires = journal.write(namespace.KIND, {}, kept_by=kept_by)
            mtu = network.make(wires, overlay)
            place = Place(
                description=description, folder=folder, image=base, network=wires, mtu=mtu
            )
            progress(f"starting {len(numbers)} nodes")
            state = State(
                description=description,
                entry=entry.id,
                network=wires.id,
                image=str(base),
                nodes=tuple(_start(place, numbers, dict(zip(numbers, chosen, strict=True)))),
            )
            if keep:
                storing.write(state)
            return state
    except BaseException:
        undo_cluster(entry)
        raise


def require(description: Description, *, built: bool = False) -> None:
    """Raise MissingError if this machine lacks something for the described cluster.

    With `built`, a userland exists already, and the programs that build one are not required.
    UsageError if a network device, or a boot from the network, is wanted and such nodes have none.
    """
    if description.boot == "pxe" and not backend(description).own_kernel:
        raise UsageError(
            f"nodes of the kind {description.kind} have no firmware that boots from the network",
            remedy='kind = "vm", or boot = "diskless"',
        )
    if description.network_device is not None and not backend(description).own_kernel:
        raise UsageError(
            f"nodes of the kind {description.kind} have no network device of their own",
            remedy='kind = "vm", or remove `network_device`',
        )
    found = [*files.check(), *backend(description).check()]
    needed.require(found if built else found + userland.check(packages(description)))


def packages(description: Description) -> tuple[str, ...]:
    """Packages of a cluster's userland, in addition to those of every instance."""
    batch = slurm.PACKAGES if description.slurm else ()
    return (*PACKAGES, *batch, *(accounting.PACKAGES if description.accounting else ()))


def scale(name: str, nodes: int) -> State:
    """Add or remove workers, the last ones first. Errors: as `create`."""
    check_nodes(nodes)
    with storing.locked(name) as before:
        description = msgspec.structs.replace(before.description, nodes=nodes)
        place = msgspec.structs.replace(place_of(before), description=description)
        kept, surplus = before.nodes[:nodes], before.nodes[nodes:]
        chosen = _placed(description)
        files.write_names(place.folder, description)
        try:
            added = _start(place, range(len(kept), nodes), dict(enumerate(chosen)))
        except BaseException:
            files.write_names(place.folder, before.description)
            raise
        after = msgspec.structs.replace(before, description=description, nodes=(*kept, *added))
        storing.write(after)
        files.write(place.folder, description, _all(chosen))
        _give_back([node.entry for node in surplus])
        files.forget(place.folder, surplus)
        if description.slurm:
            command = configuration.user_command(["sh", "-c", slurm.CHANGED], root=True)
            enter = backend(description).enter(place, after.nodes[0], command, {})
            process.run(enter, timeout_s=300)
        return after


def repair(name: str) -> tuple[State, tuple[str, ...]]:
    """Replace dead nodes; returns the new state, and the names of the replaced nodes.

    If the network is gone, as after a reboot, all nodes are replaced. Errors: as `create`.
    """
    with storing.locked(name) as before:
        made = backend(before.description)
        connected = network.exists(journal.read(before.network))
        dead = [node for node in before.nodes if not (connected and is_alive(made, node))]
        if not dead:
            return before, ()
        _give_back([node.entry for node in dead])
        state = before if connected else _reconnected(before)
        used = _all([node.cpus for node in state.nodes])
        files.write(storing.folder(name), state.description, used)
        pinned = {number_of(node): node.cpus for node in dead}
        fresh = {node.name: node for node in _start(place_of(state), list(pinned), pinned)}
        nodes = tuple(fresh.get(node.name, node) for node in state.nodes)
        after = msgspec.structs.replace(state, nodes=nodes)
        storing.write(after)
        return after, tuple(fresh)


def _reconnected(before: State) -> State:
    """Give the cluster a new network, to which no node is connected yet; returns the new state."""
    _give_back([before.network])
    wires = journal.write(namespace.KIND, {}, kept_by=storing.state_file(before.description.name))
    network.make(wires)
    after = msgspec.structs.replace(before, network=wires.id)
    storing.write(after)
    return after


def advise(name: str) -> tuple[placing.Advice, dict[str, tuple[int, ...]]]:
    """The advised placement of a cluster here, and the CPUs of each node. Changes nothing."""
    state = storing.read(name)
    wanted, host = state.description, processors.read(affinity.host_cpus())
    advice = placing.advise(wanted.nodes, wanted.cpus, host)
    names = (node.name for node in state.nodes)
    return advice, dict(zip(names, advice.cpus, strict=True))


def pin(name: str, chosen: Mapping[str, tuple[int, ...]]) -> State:
    """Restrict nodes to the `chosen` CPUs of the host.

    Errors: UsageError if a node or CPU does not exist.
    """
    with storing.locked(name) as before:
        check_pins(before, chosen, affinity.host_cpus())
        nodes = []
        for node in before.nodes:
            cpus = tuple(sorted(chosen.get(node.name, node.cpus)))
            entry = journal.read(node.entry)
            if cpus != node.cpus and entry is not None:
                backend(before.description).pin(entry, cpus)
            nodes.append(msgspec.structs.replace(node, cpus=cpus))
        after = msgspec.structs.replace(before, nodes=tuple(nodes))
        storing.write(after)
        return after


def destroy(name: str) -> None:
    """Remove a cluster with everything on it. Errors: UsageError if there is none."""
    with storing.locked(name) as state:
        undo(state)


def undo(state: State) -> None:
    """Remove a cluster that is locked. Errors: as `undo_cluster`; UsageError without its entry."""
    entry = journal.read(state.entry)
    if entry is None:
        raise UsageError(f"the journal does not know cluster `{state.description.name}`")
    undo_cluster(entry)


def undo_cluster(entry: journal.Entry) -> None:
    """Remove a cluster, or what exists of it, and all of its journal entries.

    Its state file is removed first, so that a kill from then on leaves orphans that can be cleaned.
    Errors: OSError if something could not be removed; the entry stays too then.
    """
    name = entry.details["name"]
    if storing.owned(name, entry):
        storing.state_file(name).unlink(missing_ok=True)
        files.stop_watching(entry)
        _give_back([e.id for e in journal.entries() if e.kept_by == entry.kept_by and e != entry])
    storing.remove(name, entry)
    journal.erase(entry)


def is_alive(made: Nodes, node: Node) -> bool:
    """Whether a node runs."""
    entry = journal.read(node.entry)
    return entry is not None and made.process(entry) is not None


def processes(state: State) -> list[int]:
    """Process IDs that end with their nodes, of those nodes that run."""
    made = backend(state.description)
    entries = [journal.read(node.entry) for node in state.nodes]
    found = [made.process(entry) for entry in entries if entry is not None]
    return [pid for pid in found if pid is not None]


def place_of(state: State) -> Place:
    """Resources for a cluster's nodes. Errors: UsageError if the network is gone."""
    wires = journal.read(state.network)
    if wires is None:
        name = state.description.name
        raise UsageError(f"`{name}` is down", remedy=f"aferir cluster up {name}")
    return Place(
        description=state.description,
        folder=storing.folder(state.description.name),
        image=Path(state.image),
        network=wires,
    )


def _placed(
    description: Description, host: Sequence[int] = (), nodes: int | None = None
) -> list[tuple[int, ...]]:
    """CPUs of the host for each node; `nodes`: how many are on this host, by default all."""
    known = processors.read(host or affinity.host_cpus())
    count = description.nodes if nodes is None else nodes
    return placing.place(description.placement, count, description.cpus, known)


def _all(chosen: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sorted({cpu for one in chosen for cpu in one}))


def _start(
    place: Place, numbers: Sequence[int], chosen: Mapping[int, tuple[int, ...]]
) -> list[Node]:
    """Start the nodes `numbers` in parallel, and wait for all; on failure, none remains."""
    made = backend(place.description)
    started: list[tuple[Node, journal.Entry]] = []
    try:
        for together in in_turn(place.description, numbers):
            for number in together:
                entry = made.announce(place)
                node = Node(
                    name=node_name(number),
                    address=address(number),
                    entry=entry.id,
                    cpus=chosen[number],
                )
                started.append((node, entry))
                made.start(place, node, entry)
            for node, entry in started[-len(together) :]:
                made.wait(place, node, entry)
    except BaseException:
        _give_back([node.entry for node, _ in started])
        raise
    return [node for node, _ in started]


def _give_back(entries: Sequence[str]) -> None:
    for identity in entries:
        entry = journal.read(identity)
        if entry is not None:
            _BACK[entry.kind](entry)
