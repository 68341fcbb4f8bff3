"""Reaching all hosts of an experiment at once, and what they are."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from aferir.errors import AferirError
from aferir.hosts import clocks, messages
from aferir.hosts.environment import Host
from aferir.hosts.spread import Spread
from aferir.model.host import HostSpec
from aferir.model.plan import HostLimits, Plan

_AT_ONCE = 64
_HANDLES, _OWN_HANDLES = 4, 256
"""Of each line, with those of its start, and of all else that we do."""


class Asked(msgspec.Struct, frozen=True):
    """What a host said of itself, or why it did not."""

    found: messages.Host | None = None
    error: str = ""
    remedy: str = ""
    clock: clocks.Offset | None = None
    """Relation of the host's clock to ours."""


class Reached(msgspec.Struct, frozen=True):
    """Hosts of an experiment, and what they said; one that cannot be used is among them."""

    hosts: dict[str, Host]
    asked: dict[str, Asked]

    def limits(self, here: HostLimits) -> HostLimits:
        """What this host has, with what the others have that answered."""
        others = {name: one.limits for name, one in self._found()}
        return msgspec.structs.replace(here, others=others)

    def facts(self) -> dict[str, dict[str, object]]:
        """Facts of those that answered, by name."""
        looks = {name: one.clock for name, one in self.asked.items()}
        return {
            name: {**one.facts, "clock": msgspec.to_builtins(looks[name])}
            for name, one in self._found()
        }

    def close(self) -> None:
        """End all lines; returns once the agents have given everything back."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(Host.lose, self.hosts.values()))

    def places(self, plan: Plan) -> dict[str, Host | Spread]:
        """By what `host` of its environments says, which may be several names."""
        several = {spec.host for spec in plan.environments if "," in spec.host}
        spread = {names: Spread([self.hosts[one] for one in names.split(",")]) for names in several}
        return {**self.hosts, **spread}

    def notes(self) -> list[str]:
        """What a user has to know of those that answered."""
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
    """Reach all of them at once."""
    hosts = connect(specs)
    return Reached({host.spec.name: host for host in hosts}, ask(hosts))


def ask(hosts: Sequence[Host]) -> dict[str, Asked]:
    """Ask all of them, several at once; by name, in their order."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = list(pool.map(_ask, hosts))
    return {host.spec.name: answer for host, answer in zip(hosts, answers, strict=True)}


def clean(hosts: Sequence[Host]) -> dict[str, list[str]]:
    """Undo what ended agents left on each; what could not be undone, by name."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = list(pool.map(_clean, hosts))
    return {host.spec.name: answer for host, answer in zip(hosts, answers, strict=True)}


def connect(specs: Sequence[HostSpec]) -> list[Host]:
    """Hosts that are not reached yet; there is room for handles of so many lines."""
    wanted = _HANDLES * len(specs) + _OWN_HANDLES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return [Host(spec) for spec in specs]


def _ask(host: Host) -> Asked:
    try:
        return Asked(host.describe(), clock=host.line().clock)
    except AferirError as error:
        return Asked(None, error.message, error.remedy)


def _clean(host: Host) -> list[str]:
    try:
        return host.clean()
    except AferirError as error:
        return [error.message]
