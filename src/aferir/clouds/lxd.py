"""LXD as a cloud.

An instance is a container of aferir's image with an address of its own on an existing bridge. It is
tagged with `user.aferir`, and journalled before it is requested.
"""

from __future__ import annotations

import contextlib
import io
import json
import platform
import tarfile
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

import msgspec

from aferir.clouds import known
from aferir.clouds.base import Phase, Server, Template, await_service
from aferir.clouds.lxd_api import OPERATION_LIMIT_S, NotThereError, ask, do
from aferir.errors import AferirError, ProgramError
from aferir.linux import cgroup, journal, undo, wait
from aferir.linux.journal import Entry
from aferir.machine import packages
from aferir.model.finding import Finding

PROVIDER = "lxd"
KIND = "lxd"
"""Kind of the journal entries of LXD's instances."""
TAG = "user.aferir"
"""Setting with the ID of an instance's journal entry."""
OWNER_TAG = "user.aferir.owner"
"""Setting with the owner of an instance, see `known.owner`."""
PREFIX = "aferir-"
"""Beginning of an instance's name; its journal entry's ID follows."""
USUAL_SOCKET = Path("/var/lib/lxd/unix.socket")
_OURS = "ours"
"""Detail of a journal entry which says that the server was started by aferir."""
_SERVICE_LIMIT_S = 60.0
_BUSY_LIMIT_S = 60.0
_INIT = """#!/bin/sh
ip link set lo up
{start}
while :; do sleep 2147483647 & wait; done
"""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Place of instances on an existing server."""

    socket: Path = USUAL_SOCKET
    pool: str = "default"
    bridge: str
    """An interface in LXD's own network namespace; clients of the service can reach it."""
    network: str
    """First three numbers of the instances' addresses, a /24: `10.78.0`."""
    first: int = 2
    most: int = 200
    """Number of addresses that may be assigned, from `first` on."""
    taken: frozenset[int] = frozenset()
    """Last numbers of addresses that must not be assigned."""
    managed: bool = False
    """Whether LXD manages the bridge, and so assigns addresses on it, too."""
    ours: bool = False
    """Whether aferir started the server, which then ends with all of its instances."""
    profile: str = ""
    """LXD profile with the instances' disk and limits; "": no limits, and a disk in the pool."""


class LxdCloud:
    """Containers of one image, on one server."""

    provider = PROVIDER

    def __init__(
        self,
        place: Place,
        image: str,
        template: Template,
        *,
        limit_s: float = _SERVICE_LIMIT_S,
    ) -> None:
        """Store where and how to create instances; `image` is what `add_image` returned."""
        self._limit_s = limit_s
        self._place = place
        self._image = image
        self._template = template
        self._lock = threading.Lock()
        self._taken: dict[int, Entry | None] = {}

    def check(self) -> list[Finding]:
        """Whether the server answers."""
        return check(self._place.socket)

    def create(self) -> Server:
        """Create, start, and wait for the first 200. Errors: ProgramError; nothing is left then."""
        asked = time.perf_counter()
        number = self._take()
        name = ""
        try:
            ours = {_OURS: "yes"} if self._place.ours else {}
            entry = journal.write(KIND, {"socket": str(self._place.socket), **ours})
            self._taken[number] = entry
            name = name_of(entry)
            address = f"{self._place.network}.{number}"
            do(self._place.socket, "POST", "/1.0/instances", self._wanted(entry, address))
            copied = time.perf_counter()
            _state(self._place.socket, name, "start")
            await_service(address, self._template.port, self._template.probe, self._limit_s)
            ready = time.perf_counter()
        except BaseException:
            self._give_back(number)
            raise
        return Server(
            name=name,
            address=address,
            url=f"http://{address}:{self._template.port}{self._template.probe}",
            phases=_phases(copied - asked, ready - copied),
            total_s=ready - asked,
        )

    def delete(self, name: str) -> float:
        """Stop the instance at once and delete it."""
        asked = time.perf_counter()
        for number, entry in list(self._taken.items()):
            if entry is not None and name_of(entry) == name:
                self._give_back(number)
        return time.perf_counter() - asked

    def delete_all(self) -> None:
        """Delete all instances one by one, even if some fail; then raise the first error."""
        undo.each(self._give_back, list(self._taken))

    def sent_bytes(self) -> int:
        """Bytes sent over the interfaces of existing instances, as counted by LXD."""
        sent = 0
        for entry in list(self._taken.values()):
            if entry is None:
                continue
            with contextlib.suppress(AferirError, OSError):
                path = f"/1.0/instances/{name_of(entry)}/state"
                networks = ask(self._place.socket, "GET", path)["network"] or {}
                sent += int(networks.get("eth0", {}).get("counters", {}).get("bytes_sent", 0))
        return sent

    def _take(self) -> int:
        with self._lock:
            numbers = range(self._place.first, self._place.first + self._place.most)
            used = {*self._taken, *self._place.taken}
            free = next((k for k in numbers if k not in used), None)
            if free is None:
                raise ProgramError("all addresses are taken", remedy="raise `most`")
            self._taken[free] = None
            return free

    def _give_back(self, number: int) -> None:
        entry = self._taken.get(number)
        if entry is not None:
            give_back(entry)
        with self._lock:
            self._taken.pop(number, None)

    def _wanted(self, entry: Entry, address: str) -> dict[str, Any]:
        place = self._place
        # Derived from the address, so that ARP entries of an earlier instance stay valid.
        parts = [int(part) for part in address.split(".")]
        hardware = "00:16:3e:" + ":".join(f"{part:02x}" for part in parts[1:])
        bridged = {"nictype": "bridged", "parent": place.bridge}
        ours = {"network": place.bridge, "ipv4.address": address}
        nic = ours if place.managed else bridged
        disk = {"root": {"type": "disk", "path": "/", "pool": place.pool}}
        return {
            "name": name_of(entry),
            "type": "container",
            "ephemeral": False,
            "source": {"type": "image", "fingerprint": self._image},
            "profiles": [place.profile] if place.profile else [],
            "config": {
                TAG: entry.id,
                OWNER_TAG: known.owner(),
                "security.privileged": "true",
                "raw.lxc": f"lxc.net.0.ipv4.address = {address}/24",
            },
            "devices": {
                **({} if place.profile else disk),
                "eth0": {"type": "nic", "name": "eth0", "hwaddr": hardware, **nic},
            },
        }


def name_of(entry: Entry) -> str:
    """Name of the instance that an entry announces."""
    return f"{PREFIX}{entry.id}"


def check(path: Path) -> list[Finding]:
    """Whether a server answers on the socket `path`."""
    try:
        version = ask(path, "GET", "/1.0")["environment"]["server_version"]
    except (AferirError, OSError) as error:
        if absent := packages.missing(("lxd",)):
            said = "LXD is not installed"
            return [Finding(PROVIDER, "missing", said, packages.install_command(absent))]
        said = f"LXD does not answer on {path}: {error}"
        return [Finding(PROVIDER, "missing", said, "start it, and see who may use its socket")]
    return [Finding(PROVIDER, "ok", f"LXD {version}")]


def give_back(entry: Entry) -> None:
    """Remove an instance, or what remains of it, and its journal entry.

    If a server of aferir's own is gone, its database is gone too; the instance's processes are then
    killed. Instances of other servers survive while their server is down, for example for a
    restart. Errors: AferirError if the server refuses or does not answer; the entry stays.
    """
    path, name = Path(entry.details["socket"]), name_of(entry)
    try:
        ask(path, "GET", "/1.0")
    except OSError as error:
        if _OURS not in entry.details and path.parent.exists():
            remedy = "start LXD, then run `aferir clean`"
            raise ProgramError(f"LXD does not answer on {path}: {error}", remedy=remedy) from None
        have = cgroup.layout()
        for group in (f"lxc.payload.{name}", f"lxc.monitor.{name}"):
            cgroup.remove(group, have)
        journal.erase(entry)
        return
    end(path, name)
    journal.erase(entry)


def end(path: Path, name: str) -> None:
    """Stop an instance and delete it, if it exists. Errors: ProgramError, OSError."""
    with contextlib.suppress(NotThereError):
        # An instance that could not start is busy with its stop for a while.
        wait.until_it_works(
            lambda: _delete(path, name), ProgramError, wait.after(_BUSY_LIMIT_S), period_s=0.1
        )


def _delete(path: Path, name: str) -> None:
    if ask(path, "GET", f"/1.0/instances/{name}")["status"] != "Stopped":
        _state(path, name, "stop")
    do(path, "DELETE", f"/1.0/instances/{name}")


def add_pool(path: Path, name: str) -> None:
    """Create a storage pool of plain folders, unless the server has one called `name`."""
    if f"/1.0/storage-pools/{name}" not in _listed(path, "/1.0/storage-pools"):
        ask(path, "POST", "/1.0/storage-pools", {"name": name, "driver": "dir"})


def tagged(path: Path) -> list[str]:
    """Names of all instances with the tag of aferir."""
    names = [target.rpartition("/")[2] for target in _listed(path, "/1.0/instances")]
    return [name for name in names if TAG in ask(path, "GET", f"/1.0/instances/{name}")["config"]]


def add_image(path: Path, tree: Path, template: Template) -> str:
    """Upload an image of `tree` with the template's files; returns its fingerprint.

    Errors: ProgramError if the server refuses it, OSError.
    """
    with tempfile.TemporaryFile() as archive:
        pack(tree, template, archive)
        archive.seek(0)
        done = do(path, "POST", "/1.0/images", archive)
    return str(done["metadata"]["fingerprint"])


def pack(tree: Path, template: Template, stream: IO[bytes]) -> None:
    """Write an image in LXD's format: metadata.yaml and rootfs/ in one archive. Errors: OSError."""
    about = {"architecture": platform.machine(), "creation_date": 1, "properties": {}}
    with tarfile.open(fileobj=stream, mode="w") as archive:
        _put(archive, "metadata.yaml", json.dumps(about).encode(), 0o644)
        archive.add(tree, "rootfs")
        init = _INIT.format(start=template.start)
        _put(archive, "rootfs/sbin/init", init.encode(), 0o755)
        for inside, source in template.files.items():
            archive.add(source.resolve(), f"rootfs{inside}")


def _listed(path: Path, target: str) -> list[str]:
    return list(ask(path, "GET", target))


def _state(path: Path, name: str, action: str) -> None:
    wanted = {"action": action, "force": True, "timeout": OPERATION_LIMIT_S}
    do(path, "PUT", f"/1.0/instances/{name}/state", wanted)


def _phases(copied_s: float, booted_s: float) -> tuple[Phase, ...]:
    nothing = "LXD that is no cluster has nothing to choose"
    return (
        Phase(name="TeF", seconds=None, source=nothing, resolution_s=0.0),
        Phase(name="TcI", seconds=copied_s, source="LXD's operation `create`", resolution_s=1e-3),
        Phase(
            name="TiI",
            seconds=booted_s,
            source="LXD's operation `start`, until the first HTTP 200",
            resolution_s=0.02,
        ),
    )


def _put(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), mode
    archive.addfile(member, io.BytesIO(content))
