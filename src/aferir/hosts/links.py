"""Aggregates links between hosts at all of their ends, or at none of them.

A guard on each host undoes the change there unless it is confirmed in time (`aggregation.guard`).
So no end stays changed if the connection to a host, this process or the links are lost on the way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from aferir.errors import AferirError, ProgramError
from aferir.hosts.environment import Host, RemoteEnvironment, RemoteInstance
from aferir.linux import wait
from aferir.model.host import ON_HOST
from aferir.model.plan import EnvironmentSpec
from aferir.model.variables import PYTHON

_STEP_S = 120.0
_TRY_S = 1.0
_REACH_S = 20.0
"""Time in s within which the ends must reach each other: LACP needs some seconds to negotiate."""
_AFERIR = f'exec "${PYTHON}" -m aferir aggregate "$@"'
_SPEC = EnvironmentSpec(name="links", kind=ON_HOST, cpus=1, memory_bytes=2**62)


class End(msgspec.Struct, frozen=True):
    """One end of the links: a host, its interfaces, and the instance that runs commands there."""

    host: Host
    instance: RemoteInstance
    """Native environment on the host, which runs commands."""
    interfaces: tuple[str, ...]

    def aggregate(self, *words: str) -> None:
        """Run a verb of `aferir aggregate` there. Errors: ProgramError with its message."""
        self.instance.run(("sh", "-c", _AFERIR, "sh", *words), timeout_s=_STEP_S)

    def address(self) -> str:
        """IPv4 address of the first interface; empty without one.

        Errors: ProgramError if the host has no such interface.
        """
        show = ("ip", "-json", "-4", "address", "show", "dev", self.interfaces[0])
        try:
            found = json.loads(self.instance.run(show, timeout_s=_STEP_S).stdout or "[]")
        except ProgramError as error:
            raise ProgramError(str(error), remedy="`ip link` there names its interfaces") from None
        addresses = (one for link in found for one in link.get("addr_info", ()))
        return next((str(one["local"]) for one in addresses if "local" in one), "")

    def reach(self, address: str) -> None:
        """Check that an address can be reached. Errors: ProgramError if nothing answers."""
        self.instance.run(("sh", "-c", _REACH, "sh", address, str(_TRY_S)), timeout_s=_STEP_S)


_REACH = f"""exec "${PYTHON}" -c 'import socket, sys
try:
    socket.create_connection((sys.argv[1], 22), float(sys.argv[2])).close()
except ConnectionRefusedError:
    pass' "$@"
"""
"""Shell command that succeeds if a host answers at port 22, even by a refusal; ping(8) may not be
installed.
"""


def end(host: Host, interfaces: Sequence[str]) -> End:
    """Make an end of the links on `host`. Errors: MissingError if the host cannot be reached."""
    return End(host, RemoteEnvironment(host, ON_HOST).allocate(_SPEC), tuple(interfaces))


def apply(
    ends: Sequence[End], options: Sequence[str], *, name: str, confirm_within_s: float
) -> None:
    """Aggregate at every end, see whether the first reaches the others, and confirm at every end.

    `options` are those of `aferir aggregate apply`. If any step fails, all ends are undone; one
    whose connection is lost, by its guard after `confirm_within_s`. Errors: AferirError of the
    failed step.
    """
    addresses = [one.address() for one in ends]
    begun: list[End] = []
    try:
        for one in ends:
            begun.append(one)
            where = ("--interfaces", ",".join(one.interfaces), "--name", name)
            one.aggregate("apply", *options, *where, "--confirm-within", f"{confirm_within_s:g}")
        for address in filter(None, addresses[1:]):
            _reach(ends[0], address)
        for one in ends:
            one.aggregate("confirm", name)
    except BaseException:
        for one in begun:
            undo(one, name)
        raise


def undo(one: End, name: str) -> None:
    """Undo the change at one end; if that fails, its guard undoes the change, if there is one."""
    with suppress(AferirError):
        one.aggregate("undo", name)


def _reach(one: End, address: str) -> None:
    try:
        wait.until_it_works(
            lambda: one.reach(address), ProgramError, wait.after(_REACH_S), period_s=_TRY_S
        )
    except ProgramError:
        raise ProgramError(
            f"{address} is not reached over the aggregated links of {one.host.spec.name}",
            remedy="see their switch: `aferir aggregate plan` says what each method asks of it",
        ) from None
