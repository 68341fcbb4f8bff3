"""Networks that a guest's interface is connected to: one of this machine, or of several hosts."""

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
"""Script run in a guest on several hosts: its name, and its interface's MTU and address."""


class GuestNetwork(msgspec.Struct, frozen=True):
    """Interface of this machine that is connected to a guest's only interface."""

    namespace: str
    """Name of the namespace below /run/netns."""
    tap: str
    hardware_address: str


class Link(msgspec.Struct, frozen=True):
    """A guest's connection to the guests of other hosts."""

    network: Overlay
    entry: Entry
    """Journal entry of the namespace with this host's end of it."""

    @property
    def guest(self) -> GuestNetwork:
        """Interface that the guest is started with."""
        return GuestNetwork(overlay.name_of(self.entry), _TAP, self.network.mac)

    def set_up(self, connection: JsonSocket) -> None:
        """Give the guest its name and its address. Errors: ProgramError where a step fails."""
        own = self.network
        mtu = overlay.mtu(overlay.name_of(self.entry))
        words = [own.name, str(mtu), f"{own.address}/{PREFIX}"]
        command = ["sh", "-c", _JOIN, *words]
        done = agent.run(connection, command, timeout_s=_TIME_LIMIT_S, environment={})
        if done.exit_code != 0:
            said = process.explain_exit(done)
            raise ProgramError(f"the guest could not be connected to other hosts: {said}")

    def release(self) -> None:
        """Remove the namespace, with all that is in it."""
        namespace.give_back(self.entry)


@contextmanager
def linked(network: Overlay | None) -> Iterator[Link | None]:
    """Connection for a guest made in the block, released if that fails; None without a network.

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
