"""Late, throttled and broken answers of OpenStack, from a stand-in that speaks its protocols."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir.cli import main
from aferir.clouds import providers, remote
from aferir.clouds.provider import Consistency
from aferir.errors import ProgramError
from aferir.linux import journal
from aferir.model.cloud import Wanted
from tests.unit.clouds import servers
from tests.unit.clouds.openstack_server import OpenStackServer, openstack_server

# Of the library's own doing, whatever it is asked for.
pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")


@pytest.fixture
def field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[OpenStackServer, remote.RemoteCloud]]:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in [one for one in os.environ if one.startswith("OS_")]:
        monkeypatch.delenv(name)
    with openstack_server() as cloud, servers.served(lambda *_: (200, "")) as port:
        told = {
            "AUTH_URL": f"{cloud.url}/v3",
            "USERNAME": "u",
            "PASSWORD": "secret",
            "PROJECT_NAME": "p",
            "USER_DOMAIN_ID": "default",
            "PROJECT_DOMAIN_ID": "default",
            "REGION_NAME": "here",
        }
        for name, value in told.items():
            monkeypatch.setenv(f"OS_{name}", value)
        wanted = Wanted(provider="openstack", image="node", size="small", port=port, limit_s=600.0)
        made = providers.cloud(wanted)
        assert isinstance(made, remote.RemoteCloud)
        made._cloud.consistency = Consistency(appears_s=600.0, apart_s=0.1)
        yield cloud, made


Field = tuple[OpenStackServer, remote.RemoteCloud]


def test_a_server_is_made_and_given_back(field: Field) -> None:
    cloud, made = field
    assert [finding.status for finding in made.check()] == ["ok"]
    server = made.create()
    assert list(cloud.servers.values()) == [server.name]
    (entry,) = journal.entries()
    assert "region here project p" in entry.details["place"]
    assert "secret" not in str(entry)
    made.delete(server.name)
    assert cloud.servers == {}
    assert list(journal.entries()) == []


def test_a_server_is_given_user_data(field: Field) -> None:
    cloud, _ = field
    wanted = Wanted(
        provider="openstack",
        image="node",
        size="small",
        context="ignition",
        user_data='{"ignition": {"version": "3.0.0"}}',
    )
    providers.provider(wanted).request("aferir-0badcafe-1")
    (given,) = cloud.user_data
    assert base64.b64decode(given).decode() == wanted.user_data


def test_a_server_that_is_404_for_a_moment_is_waited_for(field: Field) -> None:
    cloud, made = field
    cloud.hidden = 4
    server = made.create()
    assert cloud.hidden == 0
    made.delete(server.name)
    assert cloud.servers == {}
    assert list(journal.entries()) == []


@pytest.mark.parametrize("status", [500, 504])
def test_a_server_that_was_made_though_the_answer_was_a_fault_is_used(
    field: Field, status: int
) -> None:
    cloud, made = field
    cloud.errors = [("POST /compute/v2.1/servers", status, {})]
    server = made.create()
    assert list(cloud.servers.values()) == [server.name]
    made.delete_all()
    assert cloud.servers == {}


def test_what_is_throttled_is_asked_again(field: Field) -> None:
    cloud, made = field
    throttled = {"Retry-After": "1"}
    cloud.errors = [("GET /compute/v2.1/servers/", 429, throttled) for _ in range(2)]
    made.create()
    cloud.errors = [("DELETE /compute", 503, {}), ("GET /compute/v2.1/servers?", 500, {})]
    made.delete_all()
    assert cloud.errors == []
    assert cloud.servers == {}
    assert list(journal.entries()) == []


def test_a_quota_that_is_used_up_is_said_in_novas_words(field: Field) -> None:
    cloud, made = field

    def refuse(method: str, path: str, body: str) -> tuple[int, object, dict[str, str]]:
        if method == "POST" and path.endswith("/servers"):
            return 403, {"forbidden": {"message": "Quota exceeded for cores"}}, {}
        return OpenStackServer.answer(cloud, method, path, body)

    cloud.answer = refuse  # type: ignore[method-assign]
    with pytest.raises(ProgramError, match="Quota exceeded for cores"):
        made.create()
    assert list(journal.entries()) == []


def test_many_servers_are_looked_at_by_one_list_and_found_by_their_tag(
    field: Field, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud, made = field
    names = [made.create().name for _ in range(6)]
    cloud.asked.clear()
    looks = made._cloud.looks(list(cloud.servers))
    assert {look.stage for look in looks.values()} == {"booting"}
    assert [one.split("?")[0] for one in cloud.asked] == ["GET /compute/v2.1/servers/detail"]
    for entry in journal.entries():
        if remote.name_of(entry) == names[0]:
            journal.erase(entry)
    assert main(["clean"]) == 0
    assert f"removed instance {names[0]}" in capsys.readouterr().out
    assert set(cloud.servers.values()) == set(names[1:])
    made._cloud.consistency = Consistency(appears_s=0.0, apart_s=0.1)  # else it may still appear
    made.delete_all()
    assert cloud.servers == {}


def test_a_server_of_ipv6_alone_has_an_address(field: Field) -> None:
    cloud, made = field
    server = made.create()
    fixed = {"addr": "2001:db8::7", "version": 6, "OS-EXT-IPS:type": "fixed"}
    shown = cloud._server

    def only(identity: str) -> dict[str, object]:
        return {**shown(identity), "addresses": {"net": [fixed]}}

    cloud._server = only  # type: ignore[method-assign]
    assert made._cloud.looks(["s1"])["s1"].address == "2001:db8::7"
    made.delete(server.name)
