"""Stand-ins for clouds whose answers are damaged on the way, as happens in practice."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from aferir.clouds import providers, remote
from aferir.clouds.provider import Consistency
from aferir.model.cloud import ProviderName, Wanted
from tests.unit.clouds import servers
from tests.unit.clouds.servers import Machines

Answer = Callable[[str, str], tuple[int, str]]

WANTED: dict[ProviderName, Wanted] = {
    "ec2": Wanted(provider="ec2", image="ami-1", size="t2.micro"),
    "cloudstack": Wanted(provider="cloudstack", image="aferir-node", size="small"),
    "opennebula": Wanted(provider="opennebula", size="aferir-node"),
}


class Field:
    """A cloud of the field: a stand-in whose answers `spoil` changes before they are sent."""

    def __init__(self, stack: ExitStack, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._stack, self._folder, self._monkeypatch = stack, folder, monkeypatch
        self.machines = Machines()

    def start(
        self, name: ProviderName, spoil: Callable[[Answer, str, str], tuple[int, str]]
    ) -> Wanted:
        answer = getattr(servers, name)(self.machines)
        port = self._stack.enter_context(
            servers.served(lambda path, body: spoil(answer, path, body))
        )
        service = self._stack.enter_context(servers.served(lambda _path, _body: (200, "")))
        url = f"http://127.0.0.1:{port}"
        (self._folder / "one_auth").write_text("oneadmin:secret\n")
        told = {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_ENDPOINT_URL": url,
            "CLOUDSTACK_KEY": "key",
            "CLOUDSTACK_SECRET": "secret",
            "CLOUDSTACK_ENDPOINT": f"{url}/client/api",
            "ONE_AUTH": str(self._folder / "one_auth"),
            "ONE_XMLRPC": f"{url}/RPC2",
        }
        for variable, value in told.items():
            self._monkeypatch.setenv(variable, value)
        return msgspec.structs.replace(WANTED[name], port=service, limit_s=600.0)

    def cloud(self, wanted: Wanted, appears_s: float = 600.0) -> remote.RemoteCloud:
        """A cloud that may take `appears_s` to show a new instance, and is polled quickly."""
        made = providers.cloud(wanted)
        assert isinstance(made, remote.RemoteCloud)
        made._cloud.consistency = Consistency(appears_s=appears_s, apart_s=0.1)
        return made
