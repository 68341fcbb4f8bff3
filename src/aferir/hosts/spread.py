"""One environment over several hosts: programs start on the first, and reach the others.

On the hosts themselves they do so through the controller (`relayed`), in containers and guests over
a network that joins these (`joined`), in clusters by the cluster's own ssh (`clustered`).
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path, PurePosixPath
from typing import Protocol

import msgspec

from aferir import registry
from aferir.environments.base import Accounting
from aferir.environments.measured import Asked, Measured
from aferir.errors import AferirError, MissingError
from aferir.hosts import addresses, totals
from aferir.hosts.clustered import Clustered
from aferir.hosts.environment import Host, RemoteInstance
from aferir.hosts.joined import Joined
from aferir.hosts.relayed import Relayed
from aferir.linux.process import Completed
from aferir.model.finding import Finding
from aferir.model.overlay import MOST_NUMBER, Overlay
from aferir.model.plan import EnvironmentSpec
from aferir.model.variables import ADDRESSES, HOSTS


class Spread:
    """Several hosts that act as one."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self._hosts = tuple(hosts)

    def environment(self, kind: str) -> SpreadEnvironment:
        """Return the environment of kind `kind` over all hosts; nothing is allocated yet."""
        return SpreadEnvironment(self._hosts, kind)


class SpreadEnvironment:
    """Environment of one kind that spans several hosts."""

    def __init__(self, hosts: Sequence[Host], kind: str) -> None:
        self.kind = kind
        self._hosts = tuple(hosts)
        self._each = tuple(host.environment(kind) for host in hosts)

    def check(self) -> list[Finding]:
        """Findings of every host, one after another."""
        return [finding for one in self._each for finding in one.check()]

    def prepare(self, packages: tuple[str, ...] = ()) -> str:
        """Build or find the image on each host; returns the hash of the first."""
        first, *others = self._each
        for other in others:
            other.prepare(packages)
        return first.prepare(packages)

    def allocate(self, spec: EnvironmentSpec) -> SpreadInstance:
        """Make an instance on each host; if one fails, the others are released.

        Errors: as of the kind itself; MissingError if two hosts have the same name, or one that has
        to be joined has no address.
        """
        known = [host.identify() for host in self._hosts]
        names = tuple(one.name for one in known)
        if len(set(names)) < len(names):
            raise MissingError(
                f"hosts of `{spec.name}` have the same name: {', '.join(names)}",
                remedy="name them apart with hostnamectl, for MPI knows hosts by their names",
            )
        found = addresses.of_each([one.networks for one in known])
        made: list[RemoteInstance] = []
        try:
            return self._allocated(spec, names, found, made)
        except BaseException:
            for instance in made:
                instance.release()
            raise

    def _allocated(
        self,
        spec: EnvironmentSpec,
        names: tuple[str, ...],
        found: tuple[str, ...],
        made: list[RemoteInstance],
    ) -> SpreadInstance:
        """Make the instances, which are added to `made`, and connect them."""
        kind = registry.kinds()[self.kind]
        if kind.on_host:
            for one in self._each:  # those before one that fails are released
                made.append(one.allocate(spec))  # noqa: PERF401
            ways: Ways = Relayed(self._hosts[0], made, names, found)
            return SpreadInstance(spec, self._hosts, made, ways)
        overlay = _overlay(spec, names, found)
        for place, one in enumerate(self._each):
            own = msgspec.structs.replace(overlay, place=place)
            made.append(one.allocate(msgspec.structs.replace(spec, overlay=own)))
        ways = Clustered(made, spec.machines()) if kind.mpi else Joined(overlay, made)
        return SpreadInstance(spec, self._hosts, made, ways)


def _overlay(spec: EnvironmentSpec, names: tuple[str, ...], hosts: tuple[str, ...]) -> Overlay:
    """Network for instances on `hosts`, seen from the first host. Errors: MissingError."""
    without = [name for name, address in zip(names, hosts, strict=True) if not address]
    if without:
        raise MissingError(
            f"hosts of `{spec.name}` have no address: {', '.join(without)}",
            remedy="see `ip address` there: instances are joined over the hosts' own network",
        )
    number = 1 + secrets.randbelow(MOST_NUMBER)
    return Overlay(number=number, names=names, hosts=hosts, place=0)


class Ways(Protocol):
    """How a program on the first host, or in the instance there, reaches the others."""

    names: Sequence[str]
    """Names by which the hosts, or the instances on them, address one another."""
    addresses: Sequence[str]
    """Address of each instance, at which the others reach it."""

    def variables(self) -> dict[str, str]:
        """Environment variables that a program needs to reach the others."""
        ...

    def over_all(self, line: tuple[str, ...]) -> tuple[str, ...]:
        """Change a command of mpirun to place ranks on all hosts; return others unchanged."""
        ...

    def served(self, timeout_s: float | None) -> AbstractContextManager[None]:
        """Context in which a program can reach the others; each command there has `timeout_s`."""
        ...

    def release(self) -> None:
        """Release what was made besides the instances; may be called twice."""
        ...


class SpreadInstance:
    """An instance on each of several hosts, used as one."""

    def __init__(
        self,
        spec: EnvironmentSpec,
        hosts: Sequence[Host],
        made: Sequence[RemoteInstance],
        ways: Ways,
    ) -> None:
        self.spec = spec
        self.phases = max((one.phases for one in made), key=lambda phases: phases.total_s)
        self.emulated = any(one.emulated for one in made)
        self.accounting = Accounting(
            own_kernel=made[0].accounting.own_kernel, elsewhere=self.measure
        )
        self._each = tuple(made)
        self._hosts = tuple(hosts)
        self._ways = ways

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a command on the first host, by mpirun on all; errors as of one instance."""
        with self._ways.served(timeout_s):
            return self._each[0].run(
                self._ways.over_all(tuple(command)),
                timeout_s=timeout_s,
                environment=self._told(environment or {}),
                check=check,
            )

    def measure(self, asked: Asked) -> Measured:
        """Measure as one instance does; the probes read the first host."""
        for other in self._each[1:]:
            other.resume()
        over_all = msgspec.structs.replace(
            asked, line=self._ways.over_all(asked.line), environment=self._told(asked.environment)
        )
        try:
            with totals.metered(self._hosts[1:]) as others, self._ways.served(asked.timeout_s):
                measured = self._each[0].measure(over_all)
        finally:
            for other in self._each[1:]:
                with contextlib.suppress(AferirError):
                    other.pause()
        return totals.of_all(measured, [host.spec for host in self._hosts], others)

    def put(self, source: Path, destination: PurePosixPath) -> None:
        """Copy a file to all hosts."""
        for one in self._each:
            one.put(source, destination)

    def get(self, source: PurePosixPath, destination: Path) -> None:
        """Copy a file of the first host's instance to this host."""
        self._each[0].get(source, destination)

    def pause(self) -> None:
        """Pause the instances on all hosts."""
        for one in self._each:
            one.pause()

    def resume(self) -> None:
        """Undo `pause`."""
        for one in self._each:
            one.resume()

    def release(self) -> float:
        """Release the instances on all hosts; returns the longest duration in s."""
        self._ways.release()
        return max(one.release() for one in self._each)

    def _told(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Environment variables that name the other hosts for a program."""
        return {
            **environment,
            HOSTS: " ".join(self._ways.names),
            ADDRESSES: " ".join(self._ways.addresses),
            **self._ways.variables(),
        }
