"""OpenStack by its own SDK, which finds credentials where OpenStack's tools do.

That is `clouds.yaml` with OS_CLOUD, or the variables OS_AUTH_URL, OS_USERNAME and so on
(documentation of openstacksdk, "Configuring OpenStack SDK Applications").
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import openstack
from keystoneauth1.exceptions import ClientException
from openstack.compute.v2.server import Server as NovaServer
from openstack.connection import Connection
from openstack.exceptions import NotFoundException, SDKException

from aferir.clouds.base import PhaseName
from aferir.clouds.remote import Look, Stage
from aferir.errors import AferirError, ProgramError, UsageError
from aferir.model.cloud import Wanted
from aferir.model.finding import Finding

PROVIDER = "openstack"
REMEDY = "set OS_CLOUD and clouds.yaml, or source the project's openrc file"
_STAGES: dict[str, Stage] = {"ACTIVE": "booting", "ERROR": "failed", "DELETED": "gone"}
_BEFORE_PLACING = (None, "scheduling")


class _Ids(msgspec.Struct, frozen=True):
    image: str
    flavor: str
    networks: list[dict[str, str]]


class OpenStack:
    """Servers of Nova."""

    resolution_s = 0.0
    sources: dict[PhaseName, str]

    def __init__(self, wanted: Wanted) -> None:
        self.sources = {
            "TeF": "from the request until Nova's task_state leaves `scheduling`",
            "TcI": "from there until Nova says ACTIVE: network, image and hypervisor",
            "TiI": "from ACTIVE until the first HTTP 200",
        }
        self._wanted = wanted
        self._lock = threading.Lock()

    def check(self) -> list[Finding]:
        """Whether it lets us in, and has what is wanted."""
        try:
            _ = self._ids
        except AferirError as error:
            return [Finding(PROVIDER, "missing", error.message, error.remedy)]
        return [Finding(PROVIDER, "ok", "OpenStack lets us in and has the image and the flavor")]

    def request(self, name: str) -> str:
        """POST /servers."""
        ids = self._ids
        more = {"networks": ids.networks} if ids.networks else {}
        with _told():
            server = self._connection.compute.create_server(
                name=name, image_id=ids.image, flavor_id=ids.flavor, **more
            )
        return str(server.id)

    def look(self, identity: str) -> Look:
        """GET /servers/ID."""
        with _told():
            try:
                return _look(self._connection.compute.get_server(identity), self._wanted)
            except NotFoundException:
                return Look("gone")

    def remove(self, identity: str) -> None:
        """DELETE /servers/ID."""
        with _told():
            self._connection.compute.delete_server(identity, ignore_missing=True)

    def find(self, name: str) -> list[str]:
        """GET /servers?name=."""
        with _told():
            found = self._connection.compute.servers(details=False, name=f"^{name}$")
            return [str(server.id) for server in found]

    @functools.cached_property
    def _connection(self) -> Connection:
        with _told():
            made = openstack.connect(app_name="aferir")
            made.authorize()
        return made

    @functools.cached_property
    def _ids(self) -> _Ids:
        """Of what is wanted, asked for once. Errors: UsageError where the cloud has it not."""
        wanted, cloud = self._wanted, self._connection
        with self._lock, _told():
            image = _found("image", wanted.image, cloud.image.find_image)
            flavor = _found("flavor", wanted.size, cloud.compute.find_flavor)
            network = wanted.network and _found(
                "network", wanted.network, cloud.network.find_network
            )
        return _Ids(image, flavor, [{"uuid": network}] if network else [])


def _found(kind: str, name: str, find: Callable[..., Any]) -> str:
    """Id of what has that name. Errors: UsageError where nothing has."""
    try:
        return str(find(name, ignore_missing=False).id)
    except NotFoundException:
        said = f"OpenStack has no {kind} {name!r}"
        raise UsageError(said, remedy=f"see `openstack {kind} list`") from None


def _look(server: NovaServer, wanted: Wanted) -> Look:
    stage = _STAGES.get(str(server.status), "copying")
    if stage == "copying" and server.task_state in _BEFORE_PLACING:
        stage = "placing"
    kind = "floating" if wanted.address == "public" else "fixed"
    addresses = [
        str(one["addr"])
        for network in (server.addresses or {}).values()
        for one in network
        if one.get("version") == 4 and one.get("OS-EXT-IPS:type", "fixed") == kind
    ]
    fault = (server.fault or {}).get("message", "") if stage == "failed" else ""
    return Look(stage, addresses[0] if addresses else "", str(fault))


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """What the SDK says, as an error of ours; it names no secrets."""
    try:
        yield
    except (SDKException, ClientException) as error:
        raise ProgramError(f"OpenStack: {error}", remedy=REMEDY) from None
