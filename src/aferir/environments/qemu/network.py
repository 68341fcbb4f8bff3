"""Connects a guest's interface to a network of this machine, or of several hosts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from aferir.environments import agent
from aferir.environments.jsonsocket import JsonSocket
from aferir.errors import ProgramError
from aferir.image import initramfs
from aferir.linux import namespace, overlay, process
from aferir.linux.journal import Entry
from aferir.model.overlay import PREFIX, Overlay

_TAP = "guest"
_TIME_LIMIT_S = 300.0
_JOIN = f"""set -e
for module in failover net_failover virtio_net; do
  for file in /{initramfs.NETWORK_FOLDER}/*-$module.ko; do
    if [ -e $file ] && ! [ -d /sys/module/$module ]; then insmod $file; fi
  done
done
hostname "$0"
ip link set {overlay.INTERFACE} mtu "$1" up
ip address add "$2" dev {overlay.INTERFACE}
"""
"""Script that sets a guest's host name, and MTU and address of its interface to the other hosts."""


class GuestNetwork(msgspec.Struct, frozen=True):
    """Interface of this machine to which a guest's only interface is connected."""

    namespace: str
    """Name of the namespace below /run/netns."""
    tap: str
    hardware_address: str


class Link(msgspec.Struct, frozen=True):
    """A guest's connection to the guests of other hosts."""

    network: Overlay
    entry: Entry
    """Journal entry of the namespace that has this host's end of the connection."""

    @property
    def guest(self) -> GuestNetwork:
        """Interface of this machine to which the guest is connected when it starts."""
        return GuestNetwork(overlay.name_of(self.entry), _TAP, self.network.mac)

    def set_up(self, connection: JsonSocket) -> None:
        """Give the guest its name and its address. Errors: ProgramError if a step fails."""
        own = self.network
        mtu = overlay.mtu(overlay.name_of(self.entry))
        words = [own.name, str(mtu), f"{own.address}/{PREFIX}"]
        command = ["sh", "-c", _JOIN, *words]
        done = agent.run(connection, command, timeout_s=_TIME_LIMIT_S, environment={})
        if done.exit_code != 0:
            said = process.explain_exit(done)
            raise ProgramError(f"the guest could not be connected to other hosts: {said}")

    def release(self) -> None:
        """Remove the namespace and everything in it."""
        namespace.give_back(self.entry)


@contextmanager
def linked(network: Overlay | None) -> Iterator[Link | None]:
    """Connect the guest that the block makes; disconnected if the block fails.

    None without a network.

    Errors: MissingError with the kernel's reason.
    """
    if network is None:
        yield None
        return
    link = Link(network, overlay.for_guest(network))
    try:
        overlay.bridged(link.entry, _TAP)
        yield link
    except BaseException:
        link.release()
        raise
