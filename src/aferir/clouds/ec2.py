"""EC2 and Eucalyptus (API reference of EC2: RunInstances, DescribeInstances, TerminateInstances).

Requests carry the instance's name as client token: a repeated request creates no second instance,
and an instance whose response was lost can be found. EC2 is only eventually consistent ("Ensuring
idempotency"; "Eventual consistency in the Amazon EC2 API"): shortly after its creation, an instance
may be unknown, or missing in lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from libcloud.common.types import MalformedResponseError
from libcloud.compute.base import Node, NodeDriver, NodeImage, NodeSize
from libcloud.compute.providers import get_driver

from aferir.clouds import credentials
from aferir.clouds.base import PhaseName
from aferir.clouds.by_libcloud import Drivers, chosen, endpoint
from aferir.clouds.provider import Consistency, Look, Stage
from aferir.model.cloud import Wanted
from aferir.model.finding import Finding

_STAGES: dict[str, Stage] = {
    "pending": "copying",
    "running": "booting",
    "stopping": "failed",
    "stopped": "failed",
    "terminated": "gone",
}
_SPACE = "{*}"
_UNKNOWN = "NotFound"
_AWS = "amazonaws.com"
_CHINA = "cn-"
_KNOWN_REGION = "us-east-1"


class Ec2:
    """Instances of EC2, or of Eucalyptus, which has the same API."""

    resolution_s = 0.25
    sources: dict[PhaseName, str]
    consistency = Consistency(appears_s=300.0, apart_s=3.0)
    repeatable = True

    def __init__(self, wanted: Wanted) -> None:
        self.sources = {
            "TcI": "from the request until the cloud says `running`, the placing included",
            "TiI": "from `running` until the first HTTP 200",
        }
        self._wanted = wanted
        self._parameters: dict[str, Any] | None = None
        connect = _connect_eucalyptus if wanted.provider == "eucalyptus" else _connect_ec2
        self._drivers = Drivers(wanted.provider, connect)

    def check(self) -> list[Finding]:
        """Check that the cloud accepts the credentials, and has what the instances need."""
        return self._drivers.finding(self._known_parameters)

    def place(self) -> str:
        """Region and address of the cloud."""
        if self._wanted.provider == "eucalyptus":
            return credentials.eucalyptus().url
        key = credentials.ec2()
        return f"region {key.region}" + (f" of {key.url}" if key.url else "")

    def request(self, name: str) -> str:
        """Request RunInstances for one instance."""
        with self._drivers.driver() as driver:
            made = self._known_parameters(driver)
            return str(driver.create_node(name=name, ex_clienttoken=name, **made).id)

    def looks(self, identities: Sequence[str]) -> Mapping[str, Look]:
        """Request DescribeInstances for all instances, and then for each one that is missing.

        EC2 describes none of them if it does not know one.
        """
        if not identities:
            return {}
        with self._drivers.driver() as driver:
            found = self._described(driver, identities)
            missing = [identity for identity in identities if identity not in found]
            for identity in missing if len(identities) > 1 else ():
                found |= self._described(driver, [identity])
        return {identity: self._look(node) for identity, node in found.items()}

    def remove(self, identity: str) -> bool:
        """Request TerminateInstances."""
        with self._drivers.driver() as driver:
            try:
                parameters = {"Action": "TerminateInstances", "InstanceId.1": identity}
                driver.connection.request(driver.path, params=parameters)
            except Exception as error:
                if _UNKNOWN in str(error):
                    return False
                raise
        return True

    def find(self, name: str) -> list[str]:
        """IDs of the instances with the client token `name`, by DescribeInstances."""
        return [identity for identity, token in self._tagged(name).items() if token == name]

    def named(self, prefix: str) -> dict[str, str]:
        """Instances whose client tokens begin with the prefix, by DescribeInstances."""
        return {
            identity: name
            for identity, name in self._tagged(f"{prefix}*").items()
            if name.startswith(prefix)
        }

    def _tagged(self, token: str) -> dict[str, str]:
        """Client token by ID of the instances whose token matches `token`, which may have `*`.

        Instances without a token are left out: a cloud that ignores the filter describes all.
        """
        parameters = {"Filter.1.Name": "client-token", "Filter.1.Value.1": token}
        with self._drivers.driver() as driver:
            return {
                str(node.id): str(node.extra["client_token"])
                for node in _pages(driver, parameters)
                if str(node.extra.get("status")) != "terminated" and node.extra.get("client_token")
            }

    def _described(self, driver: Any, identities: Sequence[str]) -> dict[str, Node]:
        parameters = {f"InstanceId.{k}": one for k, one in enumerate(identities, start=1)}
        try:
            return {
                str(node.id): node
                for node in _pages(driver, parameters)
                if str(node.id) in identities
            }
        except Exception as error:
            if _UNKNOWN in str(error):
                return {}
            raise

    def _look(self, node: Node) -> Look:
        wants_public = self._wanted.address == "public"
        # An instance may have only one kind; the library tells them apart by their numbers.
        both = (node.private_ips, node.public_ips)
        addresses = [*both[wants_public], *both[not wants_public]]
        state = str(node.extra.get("status"))
        reason = node.extra.get("reason") or state
        stage = _STAGES.get(state, "copying")
        return Look(stage, str(addresses[0]) if addresses else "", str(reason))

    def _known_parameters(self, driver: Any) -> dict[str, Any]:
        """Arguments of create_node, looked up once. Errors: UsageError if the cloud lacks one."""
        if self._parameters is None:
            wanted = self._wanted
            made: dict[str, Any] = {
                "size": self._size(driver),
                "image": _image(driver, wanted.image),
            }
            if wanted.user_data:
                made["ex_userdata"] = wanted.user_data
            if wanted.network:
                made["ex_subnet"] = chosen("subnet", wanted.network, driver.ex_list_subnets())
            self._parameters = made
        return self._parameters

    def _size(self, driver: NodeDriver) -> NodeSize:
        """Instance type by its name, unchecked: EC2 has more types than the library lists."""
        wanted = self._wanted.size
        if self._wanted.provider == "eucalyptus":
            return chosen("instance type", wanted, driver.list_sizes())
        return NodeSize(
            id=wanted, name=wanted, ram=0, disk=0, bandwidth=None, price=0.0, driver=driver
        )


def _pages(driver: Any, parameters: Mapping[str, str]) -> Iterator[Node]:
    """Instances from all pages of DescribeInstances; pages before the last one may be empty."""
    token = ""
    while True:
        asked = {"Action": "DescribeInstances", **parameters}
        if token:
            asked["NextToken"] = token
        answer = driver.connection.request(driver.path, params=asked).object
        if not str(answer.tag).endswith("DescribeInstancesResponse"):  # such as a page to sign in
            raise MalformedResponseError("no answer to DescribeInstances", body=f"<{answer.tag}>")
        for reservation in answer.findall(f"{_SPACE}reservationSet/{_SPACE}item"):
            yield from driver._to_nodes(reservation, "instancesSet/item")  # noqa: SLF001
        token = answer.findtext(f"{_SPACE}nextToken") or ""
        if not token:
            return


def _image(driver: Any, wanted: str) -> NodeImage:
    """Find an image: of this account by name or ID, of other accounts by ID only.

    Errors: UsageError if there is none; the library's `get_image` raises IndexError instead.
    """
    by_id = wanted.startswith(("ami-", "emi-"))
    asked = {"ex_image_ids": [wanted]} if by_id else {"ex_owner": "self"}
    images: list[NodeImage] = driver.list_images(**asked)
    return chosen("image", wanted, images)


def _connect_ec2() -> NodeDriver:
    """Return a driver for any region; the library's own list ends at its release."""
    key = credentials.ec2()
    make: Any = get_driver("ec2")
    known = key.region in make.list_regions()
    domain = f"{_AWS}.cn" if key.region.startswith(_CHINA) else _AWS
    where = endpoint(key.url or f"https://ec2.{key.region}.{domain}")
    driver: NodeDriver = make(
        key.name,
        key.secret.text,
        region=key.region if known else _KNOWN_REGION,
        token=key.token.text or None,
        signature_version="4",
        **where,
    )
    driver.region_name = key.region  # type: ignore[attr-defined] # which requests are signed for
    return driver


def _connect_eucalyptus() -> NodeDriver:
    key = credentials.eucalyptus()
    path = credentials.path_of(key.url)
    return get_driver("eucalyptus")(key.name, key.secret.text, path=path, **endpoint(key.url))
