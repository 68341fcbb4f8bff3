"""CloudStack (API reference: deployVirtualMachine, listVirtualMachines, destroyVirtualMachine).

Names of states are those of `VirtualMachine.State`. A machine that could not be deployed stays in
state `Error` until it is destroyed. Lists come in pages of at most 500 machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from libcloud.compute.base import NodeDriver
from libcloud.compute.providers import get_driver

from aferir.clouds import credentials
from aferir.clouds.base import PhaseName
from aferir.clouds.by_libcloud import Drivers, chosen, endpoint
from aferir.clouds.context import encoded
from aferir.clouds.provider import Consistency, Look, Stage
from aferir.model.cloud import Wanted
from aferir.model.finding import Finding

PROVIDER = "cloudstack"
_STAGES: dict[str, Stage] = {
    "Running": "booting",
    "Error": "failed",
    "Stopped": "failed",
    "Shutdown": "failed",
    "Shutdowned": "failed",
    "Destroyed": "gone",
    "Expunging": "gone",
    "Expunged": "gone",
}
_PAGE = 500
_FEW = 4
"""Number of machines up to which their states are requested by ID; for more, the whole list is
requested.
"""


class CloudStack:
    """Virtual machines of the account."""

    resolution_s = 0.1
    sources: dict[PhaseName, str]
    consistency = Consistency(appears_s=60.0, apart_s=1.0)
    repeatable = False

    def __init__(self, wanted: Wanted) -> None:
        self.sources = {
            "TcI": "from the request until the cloud says `Running`, the placing included",
            "TiI": "from `Running` until the first HTTP 200",
        }
        self._wanted = wanted
        self._parameters: dict[str, Any] | None = None
        self._drivers = Drivers(PROVIDER, _connect)

    def check(self) -> list[Finding]:
        """Findings about the credentials and about the requested template and offering."""
        return self._drivers.finding(self._known_parameters)

    def place(self) -> str:
        """Address of the cloud's API."""
        return credentials.cloudstack().url

    def request(self, name: str) -> str:
        """Request deployVirtualMachine, and wait until its job ends."""
        with self._drivers.driver() as driver:
            asked = {**self._known_parameters(driver), "name": name, "displayname": name}
            done = driver._async_request("deployVirtualMachine", params=asked)  # noqa: SLF001
            return str(done["virtualmachine"]["id"])

    def looks(self, identities: Sequence[str]) -> Mapping[str, Look]:
        """Request listVirtualMachines for the state of each machine."""
        with self._drivers.driver() as driver:
            machines = _machines_of(driver, identities)
            return {
                str(one["id"]): self._look(one) for one in machines if str(one["id"]) in identities
            }

    def remove(self, identity: str) -> bool:
        """Request destroyVirtualMachine, without waiting for its effect."""
        with self._drivers.driver() as driver:
            if not list(_machines(driver, id=identity)):
                return False
            driver._sync_request("destroyVirtualMachine", params={"id": identity})  # noqa: SLF001
        return True

    def find(self, name: str) -> list[str]:
        """IDs of the machines called `name`, which CloudStack matches as a substring."""
        with self._drivers.driver() as driver:
            machines = _machines(driver, name=name)
            return [
                str(one["id"]) for one in machines if one.get("name") == name and not _ended(one)
            ]

    def named(self, prefix: str) -> dict[str, str]:
        """Machines whose names begin with the prefix."""
        with self._drivers.driver() as driver:
            return {
                str(one["id"]): str(one["name"])
                for one in _machines(driver, name=prefix)
                if str(one.get("name")).startswith(prefix) and not _ended(one)
            }

    def _look(self, machine: Mapping[str, Any]) -> Look:
        state = str(machine.get("state"))
        addresses = [
            str(address)
            for nic in sorted(machine.get("nic", ()), key=lambda one: not one.get("isdefault"))
            if (address := nic.get("ipaddress") or nic.get("ip6address"))
        ]
        public = str(machine.get("publicip") or "")
        if public and self._wanted.address == "public":
            addresses.insert(0, public)
        said = str(machine.get("details", {}).get("Message.ReservedCapacityFreed.Flag") or state)
        return Look(_STAGES.get(state, "copying"), addresses[0] if addresses else "", said)

    def _known_parameters(self, driver: Any) -> dict[str, Any]:
        """Parameters of deployVirtualMachine, looked up once.

        Errors: UsageError if the cloud lacks one of them.
        """
        if self._parameters is None:
            wanted = self._wanted
            made = {
                "serviceofferingid": chosen(
                    "service offering", wanted.size, driver.list_sizes()
                ).id,
                "templateid": chosen("template", wanted.image, driver.list_images()).id,
                "zoneid": driver.list_locations()[0].id,
            }
            if wanted.user_data:
                made["userdata"] = encoded(wanted.user_data)
            if wanted.network:
                network = chosen("network", wanted.network, driver.ex_list_networks())
                made["networkids"] = network.id
            self._parameters = made
        return self._parameters


def _machines_of(driver: Any, identities: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    if len(identities) > _FEW:
        yield from _machines(driver)
        return
    for identity in identities:
        yield from _machines(driver, id=identity)


def _machines(driver: Any, **wanted: str) -> Iterator[Mapping[str, Any]]:
    """Machines of all pages, without repetitions."""
    seen: set[str] = set()
    page = 1
    while True:
        asked = {**wanted, "page": page, "pagesize": _PAGE}
        answer = driver._sync_request("listVirtualMachines", params=asked)  # noqa: SLF001
        machines = answer.get("virtualmachine", [])
        new = [one for one in machines if str(one["id"]) not in seen]
        yield from new
        seen |= {str(one["id"]) for one in new}
        if len(machines) < _PAGE or not new:
            return
        page += 1


def _ended(machine: Mapping[str, Any]) -> bool:
    return _STAGES.get(str(machine.get("state"))) == "gone"


def _connect() -> NodeDriver:
    key = credentials.cloudstack()
    path = credentials.path_of(key.url)
    return get_driver("cloudstack")(key.name, key.secret.text, path=path, **endpoint(key.url))
