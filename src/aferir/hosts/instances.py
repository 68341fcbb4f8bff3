"""A host in a cloud: each environment that is allocated on it gets a new cloud instance.

An allocation is the request of the instance, its boot until sshd answers, and the connection to its
agent; its release releases the instance. The agent makes environments there as on any other host.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import msgspec

from aferir.clouds import providers
from aferir.clouds.base import Cloud, PhaseName, Server
from aferir.environments.base import Phases
from aferir.errors import AferirError, MissingError
from aferir.hosts import messages
from aferir.hosts.attendant import Attendant
from aferir.hosts.clocks import Offset
from aferir.hosts.environment import Host, RemoteEnvironment, RemoteInstance
from aferir.hosts.line import Line
from aferir.hosts.opening import STEP_S
from aferir.linux import ssh, wait
from aferir.model.cloud import Wanted
from aferir.model.finding import Finding
from aferir.model.host import ADDRESS, HostSpec
from aferir.model.plan import EnvironmentSpec

_SSH_PORT = 22
_LOGIN_S = 60.0
"""Time in s within which a login must succeed once sshd answers: cloud-init may still add keys."""
_AGAIN_S = 1.0


class CloudHost:
    """Instances of a cloud that are used as one host."""

    clock: Offset | None = None
    """Always None, since each instance has a clock of its own while it exists."""

    def __init__(
        self,
        spec: HostSpec,
        attendant: Attendant | None = None,
        *,
        cloud: Cloud | None = None,
        login_s: float = _LOGIN_S,
    ) -> None:
        """Store how instances are requested and reached; `cloud` None: the one of `spec.cloud`.

        A login is tried again for `login_s` seconds. Errors: MissingError if the cloud's library is
        not installed.
        """
        assert spec.cloud is not None
        self.spec = spec
        self._attendant = attendant
        self._login_s = login_s
        self._cloud = cloud or providers.cloud(_with_sshd(spec.cloud))
        self._live: dict[str, Host] = {}

    def environment(self, kind: str) -> CloudEnvironment:
        """Return the environment of kind `kind` on instances; nothing is allocated yet."""
        return CloudEnvironment(self, kind)

    def check(self) -> list[Finding]:
        """Whether the cloud can be reached."""
        return self._cloud.check()

    def describe(self) -> messages.Host:
        """Description of an instance that is made for this purpose and then released."""
        host, server = self.begin()
        try:
            return host.describe()
        finally:
            self.end(host, server)

    def begin(self) -> tuple[Host, Server]:
        """Make an instance and connect to its agent. Errors: AferirError; nothing is left then."""
        server = self._cloud.create()
        host = self._live[server.name] = Host(at(self.spec, server.address), self._attendant)
        try:
            wait.until_it_works(
                host.line, MissingError, wait.after(self._login_s), period_s=_AGAIN_S
            )
        except BaseException:
            self.end(host, server)
            raise
        return host, server

    def end(self, host: Host, server: Server) -> float:
        """Release an instance; returns how long that took, in s. Errors: as of the cloud."""
        host.lose()
        self._live.pop(server.name, None)
        return self._cloud.delete(server.name)

    def lose(self) -> None:
        """Do nothing: instances are released by the environments that made them, and by `close`."""

    def close(self, within_s: float = STEP_S) -> list[str]:
        """Release all instances; returns messages about those that may still exist."""
        for host in self._live.values():
            host.lose()
        self._live.clear()
        try:
            self._cloud.delete_all()
        except (AferirError, OSError) as error:
            return [f"host {self.spec.name}: {error}; `aferir clean` releases its instances"]
        return []

    def clean(self) -> list[str]:
        """Do nothing: released instances leave nothing; `aferir clean` releases others."""
        return []


class CloudEnvironment:
    """Environment of one kind, on an instance for each allocation."""

    def __init__(self, host: CloudHost, kind: str) -> None:
        self.kind = kind
        self._host = host
        self._packages: tuple[str, ...] = ()

    def check(self) -> list[Finding]:
        """Whether the cloud can be reached."""
        return self._host.check()

    def prepare(self, packages: tuple[str, ...] = ()) -> str:
        """Remember the packages; each instance prepares its own image once it exists."""
        self._packages = packages
        return ""

    def allocate(self, spec: EnvironmentSpec) -> CloudInstance:
        """Make an instance of the cloud, and one of the kind in it. Errors: AferirError."""
        clock = time.perf_counter()
        host, server = self._host.begin()
        try:
            there = RemoteEnvironment(host, self.kind)
            there.prepare(self._packages)
            line, made = there.request(spec)
        except BaseException:
            self._host.end(host, server)
            raise
        phases = _phases(server, time.perf_counter() - clock)
        made = msgspec.structs.replace(made, phases=phases)
        return CloudInstance(self._host, host, server, CloudInstance.Bound(spec, line, made))


class CloudInstance(RemoteInstance):
    """An environment inside a cloud instance, which is released with it."""

    class Bound(msgspec.Struct, frozen=True):
        """Specification, connection and description of an instance on any host."""

        spec: EnvironmentSpec
        line: Line
        made: messages.Allocated

    def __init__(self, of: CloudHost, host: Host, server: Server, bound: Bound) -> None:
        super().__init__(bound.spec, bound.line, bound.made)
        self._of, self._host, self._server = of, host, server
        self._released = False

    def release(self) -> float:
        """Release the environment and its cloud instance; returns the duration in s."""
        if self._released:
            return 0.0
        self._released = True
        clock = time.perf_counter()
        super().release()
        inside_s = time.perf_counter() - clock
        return inside_s + self._of.end(self._host, self._server)


def at(spec: HostSpec, address: str) -> HostSpec:
    """Specification of the host at the address of an instance.

    Its SSH key is not checked: it was made at boot, and another instance had the address before.
    """
    reach = tuple(word.replace(ADDRESS, address) for word in spec.reach)
    if ssh.is_ssh(reach):
        reach = (reach[0], *ssh.UNKNOWN_KEYS, *reach[1:])
    return msgspec.structs.replace(spec, reach=reach, cloud=None)


def _with_sshd(wanted: Wanted) -> Wanted:
    return msgspec.structs.replace(wanted, port=_SSH_PORT, probe="")


def _phases(server: Server, total_s: float) -> Phases:
    """Phases of an allocation that took `total_s`; the cloud's phases end when sshd answers."""
    known: Mapping[PhaseName, float | None] = {one.name: one.seconds for one in server.phases}
    return Phases(
        placed_s=known.get("TeF"),
        copied_s=known.get("TcI"),
        booted_s=known.get("TiI"),
        ready_s=max(0.0, total_s - server.total_s),
        total_s=total_s,
    )
