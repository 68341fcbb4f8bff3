"""Connects to all hosts of an experiment concurrently, and asks for their descriptions."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from aferir import allocations
from aferir.allocations.base import Allocation
from aferir.errors import AferirError, UsageError
from aferir.hosts import clocks, messages
from aferir.hosts.attendant import Attendant
from aferir.hosts.environment import Host
from aferir.hosts.instances import CloudHost
from aferir.hosts.spread import Spread
from aferir.linux import undo
from aferir.model.host import HostSpec
from aferir.model.plan import HostLimits, Plan

_AT_ONCE = 64
_HANDLES, _OWN_HANDLES = 4, 256
"""File descriptors of each connection while it starts, and of everything else in this process."""


class Asked(msgspec.Struct, frozen=True):
    """Description of a host, or the error instead of it."""

    found: messages.Host | None = None
    error: str = ""
    remedy: str = ""
    clock: clocks.Offset | None = None
    """Offset of the host's clock from ours."""


class Reached(msgspec.Struct, frozen=True):
    """Hosts of an experiment with their descriptions, unusable ones included."""

    hosts: dict[str, Host | CloudHost]
    asked: dict[str, Asked]
    allocations: tuple[Allocation, ...] = ()
    """Allocations that provide some of the hosts; `close` releases them."""

    def limits(self, here: HostLimits) -> HostLimits:
        """Resources of this host, and those of each other host that answered."""
        others = {name: one.limits for name, one in self._found()}
        return msgspec.structs.replace(here, others=others)

    def facts(self) -> dict[str, dict[str, object]]:
        """Facts of the hosts that answered, by name."""
        looks = {name: one.clock for name, one in self.asked.items()}
        return {
            name: {**one.facts, "clock": msgspec.to_builtins(looks[name])}
            for name, one in self._found()
        }

    def close(self) -> list[str]:
        """End all connections, then all allocations; returns messages about what remains on hosts.

        If an agent did not end by itself, a new one cleans up first.
        """
        try:
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                left = list(pool.map(lambda host: host.close(), self.hosts.values()))
        finally:
            undo.each(lambda one: one.release(), self.allocations)
        return [said for one in left for said in one]

    def places(self, plan: Plan) -> dict[str, Host | CloudHost | Spread]:
        """Hosts by each value of the key `host`; several names, with commas, make one `Spread`.

        Errors: UsageError if one of several is an instance of a cloud.
        """
        several = {spec.host for spec in plan.environments if "," in spec.host}
        spread = {
            names: Spread([self.lasting(one) for one in names.split(",")]) for names in several
        }
        return {**self.hosts, **spread}

    def lasting(self, name: str) -> Host:
        """Host called `name`, which exists for the whole run.

        Errors: UsageError if it is in a cloud.
        """
        host = self.hosts[name]
        if isinstance(host, CloudHost):
            raise UsageError(
                f"{name} is an instance of a cloud, and so no part of several hosts",
                remedy="start the instances yourself, and list them as hosts with an address each",
            )
        return host

    def notes(self) -> list[str]:
        """Notes for the user about clocks of the hosts that answered."""
        said = {name: clocks.told(one.clock) for name, one in self.asked.items() if one.clock}
        return [
            f"host {name}: {what}: times of its results are told by ours; set it, or run chrony"
            for name, what in said.items()
            if what
        ]

    def _found(self) -> Iterator[tuple[str, messages.Host]]:
        for name, one in self.asked.items():
            if one.found is not None:
                yield name, one.found


def reach(specs: Sequence[HostSpec]) -> Reached:
    """Connect to all hosts concurrently, and ask each for its description.

    Hosts of an allocation are allocated first, which may wait for their turn. Errors: MissingError
    if the batch system refuses.
    """
    made: dict[str, Allocation] = {}
    hosts: list[Host | CloudHost] = []
    try:
        for spec in dict.fromkeys(one.allocated for one in specs if one.allocated is not None):
            made[spec.name] = allocations.allocate(spec)
        hosts = connect([_there(spec, made) for spec in specs])
        return Reached({host.spec.name: host for host in hosts}, ask(hosts), tuple(made.values()))
    except BaseException:
        Reached({host.spec.name: host for host in hosts}, {}, tuple(made.values())).close()
        raise


def _there(spec: HostSpec, made: Mapping[str, Allocation]) -> HostSpec:
    """Return the host with the command that reaches it, which its allocation in `made` provides."""
    if spec.allocated is None:
        return spec
    reach = made[spec.allocated.name].reach[spec.number - 1]
    return msgspec.structs.replace(spec, reach=reach)


def ask(hosts: Sequence[Host | CloudHost]) -> dict[str, Asked]:
    """Ask all hosts concurrently; results by name, in their order."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = list(pool.map(_ask, hosts))
    return {host.spec.name: answer for host, answer in zip(hosts, answers, strict=True)}


def clean(hosts: Sequence[Host | CloudHost]) -> dict[str, list[str]]:
    """Clean up after dead agents on each host; returns what could not be removed, by name."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = list(pool.map(_clean, hosts))
    return {host.spec.name: answer for host, answer in zip(hosts, answers, strict=True)}


def connect(specs: Sequence[HostSpec]) -> list[Host | CloudHost]:
    """Make hosts, not connected yet; raises the limit of open files for all their connections."""
    wanted = _HANDLES * len(specs) + _OWN_HANDLES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    attendant = Attendant()
    return [
        Host(spec, attendant) if spec.cloud is None else CloudHost(spec, attendant)
        for spec in specs
    ]


def _ask(host: Host | CloudHost) -> Asked:
    try:
        return Asked(host.describe(), clock=host.clock)
    except AferirError as error:
        return Asked(None, error.message, error.remedy)


def _clean(host: Host | CloudHost) -> list[str]:
    try:
        return host.clean()
    except AferirError as error:
        return [error.message]
