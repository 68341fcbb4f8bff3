"""EC2, Eucalyptus and CloudStack by apache-libcloud.

A driver is not made for several threads, so that each thread has its own. Instances carry our name
from the request on: as EC2's client token, so that one of which the answer was lost is found, too.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from libcloud.common.exceptions import BaseHTTPError
from libcloud.common.types import LibcloudError
from libcloud.compute.base import Node, NodeDriver
from libcloud.compute.providers import get_driver

from aferir.clouds import credentials
from aferir.clouds.base import PhaseName
from aferir.clouds.remote import Look, Stage
from aferir.errors import AferirError, ProgramError, UsageError
from aferir.model.cloud import ProviderName, Wanted
from aferir.model.finding import Finding

_STAGES: dict[str, Stage] = {
    "running": "booting",
    "error": "failed",
    "stopped": "failed",
    "terminated": "gone",
}


class ByLibcloud:
    """Instances of one of those three."""

    resolution_s = 0.0
    sources: dict[PhaseName, str]

    def __init__(self, wanted: Wanted) -> None:
        self.sources = {
            "TcI": "from the request until the cloud says `running`, the placing included",
            "TiI": "from `running` until the first HTTP 200",
        }
        self._wanted = wanted
        self._own = threading.local()

    def check(self) -> list[Finding]:
        """Whether it lets us in, and has what is wanted."""
        provider = self._wanted.provider
        try:
            with self._driver() as driver:
                self._parameters(driver)
        except AferirError as error:
            return [Finding(provider, "missing", error.message, error.remedy)]
        return [Finding(provider, "ok", f"{provider} lets us in and has what is wanted")]

    def request(self, name: str) -> str:
        """RunInstances, or deployVirtualMachine, which answers when it is deployed."""
        with self._driver() as driver:
            node = driver.create_node(name=name, **self._known_parameters(driver, name))
            return str(node.id)

    def look(self, identity: str) -> Look:
        """How far it is."""
        with self._driver() as driver:
            node = next((n for n in self._nodes(driver, identity) if n.id == identity), None)
            if node is None:
                return Look("gone")
            wants_public = self._wanted.address == "public"
            # An instance may have one kind alone, and the library judges by the number.
            both = (node.private_ips, node.public_ips)
            addresses = [*both[wants_public], *both[not wants_public]]
            stage = _STAGES.get(str(node.state), "copying")
            return Look(stage, str(addresses[0]) if addresses else "", str(node.state))

    def remove(self, identity: str) -> None:
        """TerminateInstances, or destroyVirtualMachine with its disk."""
        with self._driver() as driver:
            for node in self._nodes(driver, identity):
                if node.id == identity:
                    driver.destroy_node(node)

    def find(self, name: str) -> list[str]:
        """Of that name, whether running or not."""
        with self._driver() as driver:
            if self._wanted.provider == "cloudstack":
                nodes = [node for node in driver.list_nodes() if node.name == name]
            else:
                nodes = driver.list_nodes(ex_filters={"client-token": name})
            return [str(node.id) for node in nodes if str(node.state) != "terminated"]

    def _nodes(self, driver: NodeDriver, identity: str) -> list[Node]:
        if self._wanted.provider == "cloudstack":
            return list(driver.list_nodes())
        return list(driver.list_nodes(ex_node_ids=[identity]))

    def _known_parameters(self, driver: NodeDriver, name: str) -> dict[str, Any]:
        """Looked up once a thread."""
        known: dict[str, Any] | None = getattr(self._own, "parameters", None)
        if known is None:
            known = self._own.parameters = self._parameters(driver)
        token = {} if self._wanted.provider == "cloudstack" else {"ex_clienttoken": name}
        return {**known, **token}

    def _parameters(self, driver: Any) -> dict[str, Any]:
        """Of create_node, which differs between drivers, as what they list does.

        Errors: UsageError where the cloud lacks what is wanted.
        """
        wanted = self._wanted
        if wanted.provider == "cloudstack":
            made = {
                "size": _chosen("service offering", wanted.size, driver.list_sizes()),
                "image": _chosen("template", wanted.image, driver.list_images()),
                "location": driver.list_locations()[0],
            }
            if wanted.network:
                network = _chosen("network", wanted.network, driver.ex_list_networks())
                made["networks"] = [network]
            return made
        made = {
            "size": _chosen("instance type", wanted.size, driver.list_sizes()),
            "image": _chosen("image", wanted.image, driver.list_images(ex_owner="self"), driver),
        }
        if wanted.network:
            made["ex_subnet"] = _chosen("subnet", wanted.network, driver.ex_list_subnets())
        return made

    @contextlib.contextmanager
    def _driver(self) -> Iterator[NodeDriver]:
        """This thread's own; what it says is an error of ours, without secrets."""
        try:
            if not hasattr(self._own, "driver"):
                self._own.driver = _connect(self._wanted.provider)
            yield self._own.driver
        except (LibcloudError, BaseHTTPError, OSError) as error:
            raise ProgramError(f"{self._wanted.provider}: {error}") from None


def _chosen(kind: str, wanted: str, offered: list[Any], driver: Any = None) -> Any:
    """The one of that id or name; an image of others is asked for by its id."""
    for one in offered:
        if wanted in (str(one.id), str(one.name)):
            return one
    if driver is not None and wanted.startswith(("ami-", "emi-")):
        return driver.get_image(wanted)
    raise UsageError(f"this cloud has no {kind} {wanted!r}", remedy="name it as the cloud does")


def _connect(provider: ProviderName) -> NodeDriver:
    if provider == "ec2":
        key = credentials.ec2()
        place = _place(key.url) if key.url else {}
        return get_driver("ec2")(key.name, key.secret.text, region=key.region, **place)
    if provider == "eucalyptus":
        key = credentials.eucalyptus()
        place = _place(key.url)
        return get_driver("eucalyptus")(
            key.name, key.secret.text, path=credentials.path_of(key.url), **place
        )
    key = credentials.cloudstack()
    return get_driver("cloudstack")(
        key.name, key.secret.text, path=credentials.path_of(key.url), **_place(key.url)
    )


def _place(url: str) -> dict[str, Any]:
    secure, host, port = credentials.address_of(url)
    return {"secure": secure, "host": host, "port": port}
