"""LXD as one of the clouds that a file can name; access to its socket is the only credential."""

from __future__ import annotations

import contextlib
import os
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

from aferir.clouds import known, lxd, lxd_api
from aferir.clouds.base import Server, Template
from aferir.errors import AferirError, MissingError, ProgramError, UsageError
from aferir.model.cloud import Wanted
from aferir.model.finding import Finding

_SNAPS_SOCKET = Path("/var/snap/lxd/common/lxd/unix.socket")
_BRIDGE = "lxdbr0"
_PROFILE = "default"
_FIRST, _LAST = 2, 254


class NamedLxd:
    """Instances on the server that LXD's own client would use."""

    provider = lxd.PROVIDER

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._socket = usual_socket()
        self._lock = threading.Lock()
        self._made: lxd.LxdCloud | None = None

    def check(self) -> list[Finding]:
        """Check that the server answers, and has what the instances need."""
        found = lxd.check(self._socket)
        if any(finding.status == "missing" for finding in found):
            return found
        try:
            with self._told():
                self._cloud()
        except AferirError as error:
            return [Finding(self.provider, "missing", error.message, error.remedy)]
        return found

    def create(self) -> Server:
        """Like `LxdCloud.create`. Errors: also UsageError if the server lacks what is wanted."""
        with self._told():
            cloud = self._cloud()
            known.remember(self._wanted, str(self._socket))
            return cloud.create()

    def delete(self, name: str) -> float:
        """Stop the instance at once and delete it."""
        with self._told():
            return 0.0 if self._made is None else self._made.delete(name)

    def delete_all(self) -> None:
        """Release all instances that this object has created."""
        with self._told():
            if self._made is not None:
                self._made.delete_all()

    def sent_bytes(self) -> int:
        """Bytes sent over the interfaces of existing instances, as counted by LXD."""
        return 0 if self._made is None else self._made.sent_bytes()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Convert OSError, for a server that has gone away, to ProgramError."""
        try:
            yield
        except OSError as error:
            said = f"LXD does not answer on {self._socket}: {error}"
            remedy = "see whether it runs, and who may use its socket"
            raise ProgramError(said, remedy=remedy) from None

    def _cloud(self) -> lxd.LxdCloud:
        """Return the cloud, which is created once: two would assign the same addresses."""
        with self._lock:
            if self._made is None:
                wanted = self._wanted
                self._made = lxd.LxdCloud(
                    place(self._socket, wanted.network or _BRIDGE, wanted.size or _PROFILE),
                    fingerprint(self._socket, wanted.image),
                    Template(start="", probe=wanted.probe, port=wanted.port),
                    limit_s=wanted.limit_s,
                )
            return self._made


def usual_socket() -> Path:
    """LXD_SOCKET, or a socket in LXD_DIR; else that of the package or the snap."""
    if told := os.environ.get("LXD_SOCKET"):
        return Path(told)
    if folder := os.environ.get("LXD_DIR"):
        return Path(folder) / "unix.socket"
    return _SNAPS_SOCKET if _SNAPS_SOCKET.exists() else lxd.USUAL_SOCKET


def fingerprint(socket: Path, image: str) -> str:
    """Fingerprint of an image, by its alias or by the beginning of its fingerprint.

    Errors: UsageError if there is no such image.
    """
    named = urllib.parse.quote(image, safe="")
    for target, field in (("images/aliases", "target"), ("images", "fingerprint")):
        with contextlib.suppress(MissingError):
            found = lxd_api.ask(socket, "GET", f"/1.0/{target}/{named}")
            if named:  # without a name it is the list of all
                return str(found[field])
    remedy = "make one with `aferir elastic image FOLDER --form lxd`; see `lxc image list`"
    raise UsageError(f"LXD has no image {image!r}", remedy=remedy)


def place(socket: Path, bridge: str, profile: str) -> lxd.Place:
    """Place of instances: the bridge's subnet, without the addresses in use.

    Errors: UsageError if there is no such bridge, or it has no IPv4 /24.
    """
    named = urllib.parse.quote(bridge, safe="")
    try:
        managed = bool(lxd_api.ask(socket, "GET", f"/1.0/networks/{named}")["managed"])
        state = lxd_api.ask(socket, "GET", f"/1.0/networks/{named}/state")
    except MissingError:
        remedy = "write network = a bridge of `lxc network list`"
        raise UsageError(f"LXD knows no bridge {bridge!r}", remedy=remedy) from None
    own = [one for one in state["addresses"] or () if one["family"] == "inet"]
    if len(own) != 1 or str(own[0]["netmask"]) != "24":
        said = ", ".join(f"{one['address']}/{one['netmask']}" for one in own) or "none"
        remedy = "take a bridge that has one IPv4 address with a prefix of 24 bits"
        raise UsageError(f"the bridge {bridge} has addresses that do not do: {said}", remedy=remedy)
    address = str(own[0]["address"])
    network = address.rpartition(".")[0]
    used = {address, *_instances(socket), *(_leases(socket, named) if managed else ())}
    numbers = {int(one.rpartition(".")[2]) for one in used if one.startswith(f"{network}.")}
    return lxd.Place(
        socket=socket,
        bridge=bridge,
        network=network,
        first=_FIRST,
        most=_LAST - _FIRST + 1,
        taken=frozenset(numbers),
        managed=managed,
        profile=profile,
    )


def _instances(socket: Path) -> set[str]:
    """Addresses that all running instances use."""
    found = set()
    for instance in lxd_api.ask(socket, "GET", "/1.0/instances?recursion=2"):
        networks = (instance.get("state") or {}).get("network") or {}
        for network in networks.values():
            found |= {str(one["address"]) for one in network["addresses"]}
    return found


def _leases(socket: Path, network: str) -> set[str]:
    leases = lxd_api.ask(socket, "GET", f"/1.0/networks/{network}/leases")
    return {str(lease["address"]) for lease in leases or ()}
