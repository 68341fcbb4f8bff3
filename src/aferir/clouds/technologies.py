"""Technologies of instances on a simulated host: containers, or guests with a disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal, Protocol

import msgspec

from aferir.clouds import stock
from aferir.environments.base import Instance
from aferir.environments.lxc.container import Container
from aferir.environments.qemu.network import GuestNetwork
from aferir.environments.qemu.vm import VirtualMachine
from aferir.linux import process, scratch
from aferir.machine import packages
from aferir.model.finding import Finding
from aferir.model.plan import EnvironmentSpec

BRIDGE = "bridge"
"""Name of each host's bridge, to which its instances are connected."""
_LIMIT_S = 60.0

Technology = Literal["container", "vm"]


class Plug(msgspec.Struct, frozen=True, kw_only=True):
    """Connection of an instance to the network of its host."""

    namespace: str
    """Name of the host's network namespace."""
    port: str
    """Interface at the host's end of the connection."""
    hardware: str
    """MAC address of the instance's interface."""


class Instances(Protocol):
    """One technology by which a simulated host makes instances, such as containers."""

    limit_s: float
    """Seconds within which an instance's service must answer."""

    def check(self) -> list[Finding]:
        """Findings on what this machine lacks for this technology."""
        ...

    def unpack(self, cache: Path) -> None:
        """Prepare the disk image in a host's cache for the start of instances."""
        ...

    def boot(
        self, spec: EnvironmentSpec, cache: Path, plug: Plug, first: Sequence[str]
    ) -> Instance:
        """Start an instance with an interface eth0, and run the shell commands `first` in it first.

        Errors: as for the kind of environment; nothing is left then.
        """
        ...

    def boot_seeded(self, spec: EnvironmentSpec, cache: Path, plug: Plug, seed: Path) -> Instance:
        """Start an instance whose first program finds the files of the folder `seed`.

        Errors: as for `boot`.
        """
        ...


class Containers:
    """Containers on the mounted image."""

    limit_s = 60.0

    def check(self) -> list[Finding]:
        """Findings on loop devices, and what containers need."""
        if not Path("/dev/loop-control").exists():
            said = "images are mounted by loop devices, and there are none"
            return [Finding("container", "missing", said, "modprobe loop")]
        return Container().check()

    def unpack(self, cache: Path) -> None:
        """Mount the disk image that is in the cache."""
        (cache / "tree").mkdir()
        mount = ["mount", "-o", "loop,ro", str(cache / "disk.img"), str(cache / "tree")]
        process.run(mount, timeout_s=_LIMIT_S)

    def boot(
        self, spec: EnvironmentSpec, cache: Path, plug: Plug, first: Sequence[str]
    ) -> Instance:
        """Start a container with one end of a veth pair."""
        return self._boot(spec, cache, plug, lambda _: None, lambda one: _run_first(one, first))

    def boot_seeded(self, spec: EnvironmentSpec, cache: Path, plug: Plug, seed: Path) -> Instance:
        """Start a container, put the seed into its root, and then connect it."""

        def put(instance: Instance) -> None:
            for path in seed.iterdir():
                instance.put(path, PurePosixPath(stock.SEED, path.name))

        return self._boot(spec, cache, plug, put, lambda _: None)

    def _boot(
        self,
        spec: EnvironmentSpec,
        cache: Path,
        plug: Plug,
        before: Callable[[Instance], None],
        after: Callable[[Instance], None],
    ) -> Instance:
        """Start a container, and connect it between two steps."""
        instance = Container(tree=cache / "tree").allocate(spec)
        pid = str(instance.accounting.processes[0])
        veth = ["link", "add", "eth0", "address", plug.hardware, "netns", pid, "type", "veth"]
        try:
            before(instance)
            _ip(*veth, "peer", "name", plug.port, "netns", plug.namespace)
            _up(plug)
            after(instance)
        except BaseException:
            instance.release()
            raise
        return instance


class Guests:
    """Guests, each with a disk of its own changes on top of the image."""

    limit_s = 180.0

    def check(self) -> list[Finding]:
        """Report whether this machine can run guests, and what is missing."""
        return VirtualMachine().check()

    def unpack(self, cache: Path) -> None:
        """Do nothing, as QEMU reads the image directly."""

    def boot(
        self, spec: EnvironmentSpec, cache: Path, plug: Plug, first: Sequence[str]
    ) -> Instance:
        """Start a guest with a tap device in the host."""
        instance = VirtualMachine(disk=cache / "disk.img", network=_tap(plug)).allocate(spec)
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

    def boot_seeded(self, spec: EnvironmentSpec, cache: Path, plug: Plug, seed: Path) -> Instance:
        """Start a guest that has the seed on a second disk."""
        with scratch.folder() as folder:
            disk = folder / "seed.img"  # QEMU has it open before the folder is removed
            make = ["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", str(seed)]
            process.run(
                [*make, str(disk), "4M"],
                timeout_s=_LIMIT_S,
                environment={"PATH": packages.search_path()},
            )
            own = cache / "disk.img"
            return VirtualMachine(disk=own, network=_tap(plug), seed=disk).allocate(spec)


INSTANCES: Mapping[Technology, Instances] = {"container": Containers(), "vm": Guests()}


def _run_first(instance: Instance, lines: Sequence[str]) -> None:
    instance.run(["sh", "-c", "\n".join(["set -e", *lines])], timeout_s=_LIMIT_S)


def _tap(plug: Plug) -> GuestNetwork:
    """Make a tap device in the host for a guest."""
    _ip("-n", plug.namespace, "tuntap", "add", "dev", plug.port, "mode", "tap")
    _up(plug)
    return GuestNetwork(plug.namespace, plug.port, plug.hardware)


def _up(plug: Plug) -> None:
    _ip("-n", plug.namespace, "link", "set", plug.port, "master", BRIDGE, "up")


def _ip(*words: str) -> None:
    process.run(["ip", *words], timeout_s=_LIMIT_S)
