"""OpenStack by its own SDK, which reads credentials from where OpenStack's tools do.

That is `clouds.yaml` with OS_CLOUD, or the variables OS_AUTH_URL, OS_USERNAME and so on
(documentation of openstacksdk, "Configuring OpenStack SDK Applications").
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import openstack
from keystoneauth1.exceptions import ClientException, ConnectFailure, HttpError
from openstack.compute.v2.server import Server as NovaServer
from openstack.connection import Connection
from openstack.exceptions import HttpException, NotFoundException, SDKException

from aferir.clouds.base import PhaseName
from aferir.clouds.context import encoded
from aferir.clouds.provider import Consistency, Look, Stage
from aferir.clouds.refused import judged
from aferir.errors import AferirError, UsageError
from aferir.model.cloud import Wanted
from aferir.model.finding import Finding

PROVIDER = "openstack"
REMEDY = "set OS_CLOUD and clouds.yaml, or source the project's openrc file"
_STAGES: dict[str, Stage] = {
    "ACTIVE": "booting",
    "ERROR": "failed",
    "DELETED": "gone",
    "SOFT_DELETED": "gone",
}
_LIMIT_S = 60
_FEW = 4
"""Number of servers up to which their states are requested one by one; for more, a list is
requested.
"""
_BEFORE_PLACING = (None, "scheduling")


class _Ids(msgspec.Struct, frozen=True):
    image: str
    flavor: str
    networks: list[dict[str, str]]


class OpenStack:
    """Servers of Nova."""

    resolution_s = 0.05
    sources: dict[PhaseName, str]
    consistency = Consistency(appears_s=60.0, apart_s=2.0)
    repeatable = False

    def __init__(self, wanted: Wanted) -> None:
        self.sources = {
            "TeF": "from the request until Nova's task_state leaves `scheduling`",
            "TcI": "from there until Nova says ACTIVE: network, image and hypervisor",
            "TiI": "from ACTIVE until the first HTTP 200",
        }
        self._wanted = wanted
        self._lock = threading.Lock()

    def check(self) -> list[Finding]:
        """Check that the cloud accepts the credentials, and has what the instances need."""
        try:
            _ = self._ids
        except AferirError as error:
            return [Finding(PROVIDER, "missing", error.message, error.remedy)]
        return [Finding(PROVIDER, "ok", "OpenStack lets us in and has the image and the flavor")]

    def request(self, name: str) -> str:
        """Request POST /servers for one server."""
        ids = self._ids
        more: dict[str, Any] = {"networks": ids.networks} if ids.networks else {}
        if self._wanted.user_data:
            more["user_data"] = encoded(self._wanted.user_data)
        with _told():
            server = self._connection.compute.create_server(
                name=name, image_id=ids.image, flavor_id=ids.flavor, **more
            )
        return str(server.id)

    def looks(self, identities: Sequence[str]) -> Mapping[str, Look]:
        """Request GET /servers/ID for each server, or the list if there are many.

        Just after POST, and while its databases catch up, Nova may answer 404.
        """
        if len(identities) <= _FEW:
            return {one: look for one in identities if (look := self._look(one)) is not None}
        with _told():
            servers = {str(one.id): one for one in self._connection.compute.servers()}
        return {one: _look(servers[one], self._wanted) for one in identities if one in servers}

    def remove(self, identity: str) -> bool:
        """Request DELETE /servers/ID for one server."""
        with _told():
            try:
                self._connection.compute.delete_server(identity, ignore_missing=False)
            except NotFoundException:
                return False
        return True

    def find(self, name: str) -> list[str]:
        """IDs of the servers called `name`, from all pages of GET /servers?name=."""
        return [one for one, known in self._listed(f"^{name}$").items() if known == name]

    def named(self, prefix: str) -> dict[str, str]:
        """Servers whose names begin with the prefix, by GET /servers?name=, which takes a regex."""
        found = self._listed(f"^{prefix}")
        return {one: name for one, name in found.items() if name.startswith(prefix)}

    def place(self) -> str:
        """Address of Keystone, region and project."""
        cloud = self._connection
        with _told():
            address = str(cloud.config.get_auth_args().get("auth_url", ""))
            region = str(cloud.config.get_region_name("compute") or "")
            project = str(cloud.current_project_id or "")
        return f"{address} region {region} project {project}"

    def _look(self, identity: str) -> Look | None:
        with _told():
            try:
                return _look(self._connection.compute.get_server(identity), self._wanted)
            except NotFoundException:
                return None

    def _listed(self, name: str) -> dict[str, str]:
        with _told():
            found = self._connection.compute.servers(details=False, name=name)
            return {str(server.id): str(server.name) for server in found}

    @functools.cached_property
    def _connection(self) -> Connection:
        with _told():
            made = openstack.connect(app_name="aferir", api_timeout=_LIMIT_S)
            made.authorize()
        return made

    @functools.cached_property
    def _ids(self) -> _Ids:
        """IDs of image, flavor and network, looked up once. Errors: UsageError if one is absent."""
        wanted, cloud = self._wanted, self._connection
        with self._lock, _told():
            image = _found("image", wanted.image, cloud.image.find_image)
            flavor = _found("flavor", wanted.size, cloud.compute.find_flavor)
            network = wanted.network and _found(
                "network", wanted.network, cloud.network.find_network
            )
        return _Ids(image, flavor, [{"uuid": network}] if network else [])


def _found(kind: str, name: str, find: Callable[..., Any]) -> str:
    """ID of the item called `name`. Errors: UsageError if there is none."""
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
    found = [
        (one.get("version") == 6, str(one["addr"]))
        for network in (server.addresses or {}).values()
        for one in network
        if one.get("OS-EXT-IPS:type", "fixed") == kind
    ]
    addresses = [address for _, address in sorted(found)]  # IPv6 only if there is no IPv4
    fault = (server.fault or {}).get("message", "") if stage == "failed" else ""
    return Look(stage, addresses[0] if addresses else "", str(fault))


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Convert errors of the SDK to CloudError; the message contains no secrets.

    The SDK also raises `ValueError` and others if a response is not as expected.
    """
    try:
        yield
    except AferirError:
        raise
    except (HttpException, HttpError) as error:
        raise judged(
            "OpenStack",
            _words(error),
            status=_status(error),
            headers=_headers(error),
            remedy=REMEDY,
        ) from None
    except (ConnectFailure, OSError) as error:
        raise judged("OpenStack", str(error), remedy=REMEDY) from None
    except (SDKException, ClientException) as error:
        raise judged("OpenStack", str(error), status=400, remedy=REMEDY) from None
    except Exception as error:  # noqa: BLE001 - see above
        said = f"its answer is not understood: {type(error).__name__}: {error}"
        raise judged("OpenStack", said, remedy=REMEDY) from None


def _words(error: Exception) -> str:
    """Nova's own message, if it says more than the status."""
    details = str(getattr(error, "details", "") or "")
    return str(error) if not details or details in str(error) else f"{error}: {details}"


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None) or getattr(error, "http_status", None)
    return int(status) if status else None


def _headers(error: Exception) -> Mapping[str, str]:
    response = getattr(error, "response", None)
    return dict(getattr(response, "headers", None) or {})
