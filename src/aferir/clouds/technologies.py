"""What instances of a simulated host are: containers of its image, or guests with its disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from aferir.environments.base import Instance
from aferir.environments.lxc.container import Container
from aferir.environments.qemu.vm import GuestNetwork, VirtualMachine
from aferir.linux import process
from aferir.model.finding import Finding
from aferir.model.plan import EnvironmentSpec

BRIDGE = "bridge"
"""Name of each host's bridge, on which its instances are."""
_LIMIT_S = 60.0

Technology = Literal["container", "vm"]


class Plug(msgspec.Struct, frozen=True, kw_only=True):
    """Where an instance is plugged into the network of its host."""

    namespace: str
    """The network namespace of the host."""
    port: str
    """Interface there that is the other end of the instance's."""
    hardware: str
    """Address of the instance's interface."""


class Instances(Protocol):
    """One technology."""

    limit_s: float
    """The time within which its service has to answer."""

    def check(self) -> list[Finding]:
        """What this machine lacks for it."""
        ...

    def unpack(self, cache: Path) -> None:
        """Make what instances start from of the disk image that has come to a host's cache."""
        ...

    def boot(
        self, spec: EnvironmentSpec, cache: Path, plug: Plug, first: Sequence[str]
    ) -> Instance:
        """Start one that has an interface eth0, and run those lines of a shell in it at first.

        Errors: as of the kind of environment; nothing is left then.
        """
        ...


class Containers:
    """On the image, mounted."""

    limit_s = 60.0

    def check(self) -> list[Finding]:
        """Loop devices, and what containers need."""
        if not Path("/dev/loop-control").exists():
            said = "images are mounted by loop devices, and there are none"
            return [Finding("container", "missing", said, "modprobe loop")]
        return Container().check()

    def unpack(self, cache: Path) -> None:
        """Mount the image."""
        (cache / "tree").mkdir()
        mount = ["mount", "-o", "loop,ro", str(cache / "disk.img"), str(cache / "tree")]
        process.run(mount, timeout_s=_LIMIT_S)

    def boot(
        self, spec: EnvironmentSpec, cache: Path, plug: Plug, first: Sequence[str]
    ) -> Instance:
        """With one end of a pair of interfaces."""
        instance = Container(tree=cache / "tree").allocate(spec)
        pid = str(instance.accounting.processes[0])
        veth = ["link", "add", "eth0", "netns", pid, "type", "veth"]
        try:
            _ip(*veth, "peer", "name", plug.port, "netns", plug.namespace)
            _up(plug)
            _run_first(instance, [f"ip link set eth0 address {plug.hardware}", *first])
        except BaseException:
            instance.release()
            raise
        return instance


class Guests:
    """On a disk above the image."""

    limit_s = 180.0

    def check(self) -> list[Finding]:
        """What guests need."""
        return VirtualMachine().check()

    def unpack(self, cache: Path) -> None:
        """Nothing: QEMU reads the image as it is."""

    def boot(
        self, spec: EnvironmentSpec, cache: Path, plug: Plug, first: Sequence[str]
    ) -> Instance:
        """With a tap device as the other end."""
        _ip("-n", plug.namespace, "tuntap", "add", "dev", plug.port, "mode", "tap")
        _up(plug)
        network = GuestNetwork(plug.namespace, plug.port, plug.hardware)
        instance = VirtualMachine(disk=cache / "disk.img", network=network).allocate(spec)
        modules = "/lib/aferir-modules"
        try:
            _run_first(
                instance,
                [
                    f"for m in {modules}/*failover.ko; do insmod $m; done",
                    f"insmod {modules}/*-virtio_net.ko",
                    *first,
                ],
            )
        except BaseException:
            instance.release()
            raise
        return instance


INSTANCES: Mapping[Technology, Instances] = {"container": Containers(), "vm": Guests()}


def _run_first(instance: Instance, lines: Sequence[str]) -> None:
    instance.run(["sh", "-c", "\n".join(["set -e", *lines])], timeout_s=_LIMIT_S)


def _up(plug: Plug) -> None:
    _ip("-n", plug.namespace, "link", "set", plug.port, "master", BRIDGE, "up")


def _ip(*words: str) -> None:
    process.run(["ip", *words], timeout_s=_LIMIT_S)
