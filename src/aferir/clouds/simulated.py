"""A cloud of hosts that are simulated on this machine; network and image copies are real.

Each host is a network namespace with a bridge, an uplink of limited rate to one switch, and an
image cache of its own. An instance, a container or a guest, is placed on a host, the image is
copied there unless it is cached, and the instance boots. Clients run in the namespace of the
switch.
"""

from __future__ import annotations

import ipaddress
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from aferir.clouds import node_image, stock
from aferir.clouds.base import Phase, PhaseName, Server, Template, await_service
from aferir.clouds.technologies import BRIDGE, INSTANCES, Plug, Technology
from aferir.environments.base import Instance
from aferir.errors import ProgramError
from aferir.image import userland
from aferir.image.progress import Progress, silent
from aferir.linux import journal, namespace, process, scratch, undo
from aferir.machine import needed, packages, privileges
from aferir.model.finding import Finding
from aferir.model.plan import EnvironmentSpec

PROVIDER = "simulated"
CLIENTS_ADDRESS = "10.77.0.1"
MOST_HOSTS, MOST_PER_HOST = 64, 320
"""Largest number of hosts, and of instances on one host: Dutra 2015, Table 5.2, had 320."""
_FIRST_ADDRESS = ipaddress.IPv4Address("10.77.0.0")
_PLACES = 512
"""Number of addresses per host: a power of two above its instances; 64 hosts use half of the /16.
"""
_LIMIT_S = 60.0
_CLOCK = "time.perf_counter of this process"
_UPLINK, _PORT = "uplink", "node"


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Size and rates of the simulated data centre."""

    hosts: int = 2
    per_host: int = 4
    """Largest number of instances on each host."""
    rate_bps: float = 0.0
    """Rate of a host's uplink towards the clients in bit/s; 0: unlimited."""
    technology: Technology = "container"
    cpus: int = 1
    memory_bytes: int = 256 * 2**20
    cpu_quota: float | None = None
    """CPU time that an instance may use, as a share of its CPUs; None: all of it."""

    def __post_init__(self) -> None:
        """Check the values. Errors: ValueError that names an impossible one."""
        if not (1 <= self.hosts <= MOST_HOSTS and 1 <= self.per_host <= MOST_PER_HOST):
            raise ValueError(f"hosts, per_host: from 1 to {MOST_HOSTS} and {MOST_PER_HOST}")


class Host:
    """One simulated host and its instances."""

    def __init__(self, number: int, name: str, cache: Path) -> None:
        self.number = number
        self.namespace = name
        self.cache = cache
        self.copying = threading.Lock()
        self.places: dict[int, str] = {}
        """Names of the host's instances, by the number of the place that each occupies."""


class SimulatedCloud:
    """A cloud of simulated hosts; created by `simulated_cloud`."""

    provider = PROVIDER

    def __init__(
        self, layout: Layout, template: Template, entry: journal.Entry, base: userland.Image
    ) -> None:
        self.layout = layout
        self.clients_namespace = namespace.name_of(entry, "clients")
        """Network namespace of clients and Front."""
        self._template = template
        self._base = base
        folder = namespace.folder_of(entry)
        self.hosts = tuple(
            Host(k, namespace.name_of(entry, f"h{k}"), folder / f"host{k}")
            for k in range(1, layout.hosts + 1)
        )
        self.emulated = False
        """True as soon as an instance was created whose processor is emulated in software."""
        self._lock = threading.Lock()
        self._instances: dict[str, tuple[Host, int, Instance | None]] = {}
        self._number = 0

    def check(self) -> list[Finding]:
        """Return no findings: what simulated hosts need is checked before this cloud is created."""
        return []

    def create(self) -> Server:
        """Place, copy, boot, and wait for the first 200."""
        asked = time.perf_counter()
        name, host, place = self._place()
        placed = time.perf_counter()
        try:
            self._copy(host)
            copied = time.perf_counter()
            address = address_of(host.number, place)
            instance = self._boot(name, host, place, address)
            self.emulated = self.emulated or instance.emulated
            with self._lock:
                self._instances[name] = (host, place, instance)
            usual_s = INSTANCES[self.layout.technology].limit_s
            limit_s = stock.SEED_LIMIT_S if self._template.user_data else usual_s
            await_service(address, self._template.port, self._template.probe, limit_s)
            ready = time.perf_counter()
        except BaseException:
            self.delete(name)
            raise
        steps: dict[PhaseName, float] = {
            "TeF": placed - asked,
            "TcI": copied - placed,
            "TiI": ready - copied,
        }
        return Server(
            name=name,
            address=address,
            url=f"http://{address}:{self._template.port}{self._template.probe}",
            phases=tuple(
                Phase(name=step, seconds=seconds, source=_CLOCK, resolution_s=1e-6)
                for step, seconds in steps.items()
            ),
            total_s=ready - asked,
        )

    def delete(self, name: str) -> float:
        """Kill the instance, and free its place."""
        asked = time.perf_counter()
        with self._lock:
            if name not in self._instances:
                return 0.0
            host, place, instance = self._instances[name]
        if instance is not None:
            instance.release()
        self._ip("-n", host.namespace, "link", "del", f"{_PORT}{place}", check=False)
        with self._lock:
            if self._instances.pop(name, None) is not None:
                del host.places[place]
        return time.perf_counter() - asked

    def delete_all(self) -> None:
        """Delete all instances one by one, even if some fail; then raise the first error."""
        undo.each(self.delete, list(self._instances))

    def instance(self, name: str) -> Instance | None:
        """The instance itself; tests use it to make the instance fail."""
        return self._instances[name][2]

    def fill_caches(self) -> None:
        """Copy the image to every host."""
        for host in self.hosts:
            self._copy(host)

    def sent_bytes(self) -> int:
        """Bytes sent over all uplinks; call it in the clients' namespace (/proc/net/dev)."""
        sent = 0
        for line in Path("/proc/thread-self/net/dev").read_text(encoding="ascii").splitlines():
            name, _, fields = line.partition(":")
            if name.strip().startswith("host"):
                sent += int(fields.split()[0])
        return sent

    def _place(self) -> tuple[str, Host, int]:
        """Choose the host with the fewest instances (TeF). Errors: ProgramError if all are full."""
        with self._lock:
            host = min(self.hosts, key=lambda host: len(host.places))
            free = [k for k in range(1, self.layout.per_host + 1) if k not in host.places]
            if not free:
                raise ProgramError("no host has room for another instance", remedy="add hosts")
            self._number += 1
            name = f"node{self._number}"
            host.places[free[0]] = name
            self._instances[name] = (host, free[0], None)
            return name, host, free[0]

    def _copy(self, host: Host) -> None:
        """Copy the image into the host's cache once (TcI); concurrent calls wait for the copy."""
        with host.copying:
            if (host.cache / "complete").exists():
                return
            undo.remove_tree(host.cache)
            host.cache.mkdir(parents=True)
            disk = host.cache / "disk.img"
            node_image.copy_sparse(self._base.disk, disk)
            node_image.put_files(disk, self._template.files)
            INSTANCES[self.layout.technology].unpack(host.cache)
            (host.cache / "complete").touch()

    def _boot(self, name: str, host: Host, place: int, address: str) -> Instance:
        """Boot the instance (TiI before its service starts); it is released again on failure."""
        layout, port = self.layout, f"{_PORT}{place}"
        # Derived from the place, as the address is, so that ARP entries stay valid.
        hardware = f"52:54:4d:{host.number:02x}:{place >> 8:02x}:{place & 255:02x}"
        spec = EnvironmentSpec(
            name=name,
            kind=layout.technology,
            cpus=layout.cpus,
            memory_bytes=layout.memory_bytes,
            cpu_quota=layout.cpu_quota,
            packages=self._template.packages,
        )
        plug = Plug(namespace=host.namespace, port=port, hardware=hardware)
        instances = INSTANCES[layout.technology]
        if way := stock.WAYS.get(self._template.context):
            identity = stock.Identity(name=name, address=address, hardware=hardware)
            with scratch.folder() as seed:
                for file, text in way.seed(self._template.user_data, identity).items():
                    (seed / file).write_text(text, encoding="utf-8")
                return instances.boot_seeded(spec, host.cache, plug, seed)
        first = (
            f"ip address add {address}/16 dev eth0",
            "ip link set eth0 addrgenmode none up",
            self._template.start,
        )
        return instances.boot(spec, host.cache, plug, first)

    def _ip(self, *words: str, check: bool = True) -> None:
        process.run(["ip", *words], timeout_s=_LIMIT_S, check=check)


def address_of(host: int, place: int) -> str:
    """Address of an instance; place 0 is the host itself."""
    return str(_FIRST_ADDRESS + host * _PLACES + place + 1)


def check(technology: Technology) -> list[Finding]:
    """Findings on what this machine lacks for simulated hosts with instances of `technology`."""
    if not privileges.is_root():
        said = "only root may make networks of namespaces"
        return [Finding(PROVIDER, "missing", said, privileges.as_root_command())]
    if absent := packages.missing(("ip", "tc", "debugfs")):
        said = f"simulated hosts need {', '.join(absent)}"
        return [Finding(PROVIDER, "missing", said, packages.install_command(absent))]
    return INSTANCES[technology].check()


@contextmanager
def simulated_cloud(
    layout: Layout, template: Template, progress: Progress = silent
) -> Iterator[SimulatedCloud]:
    """Create hosts and their network, and remove everything afterwards in any case. Needs root.

    Errors: MissingError if `check` finds anything missing, ProgramError if the kernel refuses.
    """
    needed.require(check(layout.technology))
    base = userland.ensure(progress, template.packages)
    entry = journal.write(namespace.KIND, {})
    made = SimulatedCloud(layout, template, entry, base)
    try:
        namespace.folder_of(entry).mkdir(parents=True)
        for command in commands(made.clients_namespace, made.hosts, layout.rate_bps):
            process.run(command, timeout_s=_LIMIT_S)
        yield made
    finally:
        try:
            made.delete_all()
        finally:
            namespace.give_back(entry)


def commands(clients: str, hosts: tuple[Host, ...], rate_bps: float) -> list[list[str]]:
    """Commands that create the network; interfaces never appear in the host's namespace."""
    switch = ["ip", "-n", clients]
    bridge = ["link", "add", BRIDGE, "type", "bridge"]
    up = ["addrgenmode", "none", "up"]
    made = [
        ["ip", "netns", "add", clients],
        [*switch, *bridge],
        [*switch, "address", "add", f"{CLIENTS_ADDRESS}/16", "dev", BRIDGE],
        [*switch, "link", "set", BRIDGE, *up],
        [*switch, "link", "set", "lo", "up"],
    ]
    for host in hosts:
        inside = ["ip", "-n", host.namespace]
        port = f"host{host.number}"
        veth = ["ip", "link", "add", _UPLINK, "netns", host.namespace, "type", "veth"]
        own = f"{address_of(host.number, 0)}/16"
        made += [
            ["ip", "netns", "add", host.namespace],
            [*veth, "peer", "name", port, "netns", clients],
            [*inside, *bridge],
            [*inside, "address", "add", own, "dev", BRIDGE],
            [*inside, "link", "set", BRIDGE, *up],
            [*inside, "link", "set", _UPLINK, "master", BRIDGE, *up],
            [*inside, "link", "set", "lo", "up"],
            [*switch, "link", "set", port, "master", BRIDGE, *up],
        ]
        if rate_bps > 0:
            shape = ["tbf", "rate", f"{rate_bps:.0f}bit", "burst", "32kb", "latency", "50ms"]
            made.append(
                ["tc", "-n", host.namespace, "qdisc", "add", "dev", _UPLINK, "root", *shape]
            )
    return made
