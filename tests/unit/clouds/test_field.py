"""Late, throttled and broken answers of clouds, from stand-ins that speak their protocols."""

from __future__ import annotations

import http.server
import json
import os
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aferir.clouds import credentials, providers, removal
from aferir.errors import AferirError, ProgramError, UsageError
from aferir.linux import journal
from aferir.model.cloud import ProviderName, Wanted
from tests.unit.clouds import servers
from tests.unit.clouds.servers import Machines
from tests.unit.clouds.spoilt import WANTED, Answer, Field


@pytest.fixture
def field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Field]:
    with ExitStack() as stack:
        yield Field(stack, tmp_path, monkeypatch)


def given(path: str, body: str) -> dict[str, str]:
    return dict(urllib.parse.parse_qsl(body or urllib.parse.urlsplit(path).query))


@pytest.mark.parametrize("how", ["not found", "empty"])
def test_an_instance_of_ec2_that_is_not_shown_yet_is_waited_for(field: Field, how: str) -> None:
    hidden = 6

    def late(answer: Answer, path: str, body: str) -> tuple[int, str]:
        nonlocal hidden
        asked = given(path, body)
        if asked["Action"] != "DescribeInstances" or hidden == 0:
            return answer(path, body)
        hidden -= 1
        if how == "not found" and "InstanceId.1" in asked:
            return 400, servers._refused("InvalidInstanceID.NotFound", "it does not exist")
        return 200, servers._ec2("DescribeInstances", "<reservationSet></reservationSet>")

    cloud = field.cloud(field.start("ec2", late))
    server = cloud.create()
    assert hidden == 0
    assert list(field.machines.names.values()) == [server.name]
    cloud.delete_all()
    assert field.machines.names == {}
    assert list(journal.entries()) == []


def test_an_instance_of_ec2_that_never_shows_in_time_stays_in_the_journal(
    field: Field, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "_DOUBT_LIMIT_S", 0.5)

    def hides(answer: Answer, path: str, body: str) -> tuple[int, str]:
        action = given(path, body)["Action"]
        if action == "TerminateInstances":
            return 400, servers._refused("InvalidInstanceID.NotFound", "it does not exist")
        if action == "DescribeInstances" and shut:
            return 200, servers._ec2(action, "<reservationSet></reservationSet>")
        return answer(path, body)

    shut = True
    wanted = msgspec.structs.replace(field.start("ec2", hides), limit_s=0.5)
    cloud = field.cloud(wanted)
    with pytest.raises(ProgramError, match="not certain"):
        cloud.create()
    (entry,) = journal.entries()
    assert entry.details["identity"] == "i-1"
    assert field.machines.names


@pytest.mark.parametrize(
    ("name", "made_by"),
    [
        ("ec2", "RunInstances"),
        ("cloudstack", "deployVirtualMachine"),
        ("opennebula", "one.template.instantiate"),
    ],
)
@pytest.mark.parametrize("status", [500, 504])
def test_one_that_was_made_though_the_answer_was_an_error_is_used(
    field: Field, name: ProviderName, made_by: str, status: int
) -> None:
    broken = 1

    def breaks(answer: Answer, path: str, body: str) -> tuple[int, str]:
        nonlocal broken
        done = answer(path, body)
        if field.machines.asked[-1] == made_by and broken:
            broken = 0
            return status, "<html><title>an error of the gate</title></html>"
        return done

    cloud = field.cloud(field.start(name, breaks))
    server = cloud.create()
    assert broken == 0
    assert list(field.machines.names.values()) == [server.name]
    cloud.delete(server.name)
    assert field.machines.names == {}
    assert list(journal.entries()) == []


@pytest.mark.parametrize("name", list(WANTED))
def test_a_cloud_that_answers_every_look_with_an_error_for_a_while_loses_nothing(
    field: Field, name: ProviderName
) -> None:
    errors = 4

    def busy(answer: Answer, path: str, body: str) -> tuple[int, str]:
        nonlocal errors
        looked = any(word in path + body for word in ("DescribeInst", "listVirtual", "one.vm"))
        if not looked or errors == 0 or not field.machines.names:
            return answer(path, body)
        errors -= 1
        if name == "ec2":
            return 503, servers._refused("RequestLimitExceeded", "Request limit exceeded.")
        return (503, "") if errors % 2 else (200, "<html><title>login</title></html>")

    cloud = field.cloud(field.start(name, busy))
    server = cloud.create()
    assert errors == 0
    cloud.delete(server.name)
    assert field.machines.names == {}
    assert list(journal.entries()) == []


def test_many_instances_are_looked_at_together(field: Field) -> None:
    most = 0

    def starts_none_before_it(answer: Answer, path: str, body: str) -> tuple[int, str]:
        nonlocal most
        most = max(most, sum(key.startswith("InstanceId.") for key in given(path, body)))
        if most < 8:
            field.machines.looks = dict.fromkeys(field.machines.looks, 0)
        return answer(path, body)

    cloud = field.cloud(field.start("ec2", starts_none_before_it))
    threads = [threading.Thread(target=cloud.create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(field.machines.names) == 8
    assert most == 8
    cloud.delete_all()
    assert field.machines.names == {}
    assert list(journal.entries()) == []


def virtual_machines(machines: list[dict[str, Any]], asked: dict[str, str]) -> tuple[int, str]:
    """Page by page, as listVirtualMachines gives them: 500 where nobody asks for fewer."""
    size, page = min(500, int(asked.get("pagesize", 500))), int(asked.get("page", 1))
    found = [
        one
        for one in machines
        if asked.get("id", one["id"]) == one["id"] and asked.get("name", "") in one["name"]
    ]
    some = found[(page - 1) * size : page * size]
    answer = {"count": len(found), "virtualmachine": some}
    return 200, json.dumps({"listvirtualmachinesresponse": answer})


def test_the_501st_machine_of_cloudstack_is_seen_and_removed(field: Field) -> None:
    def listed(answer: Answer, path: str, body: str) -> tuple[int, str]:
        asked = given(path, body)
        if asked["command"] != "listVirtualMachines":
            return answer(path, body)
        plain = "/client/api?command=listVirtualMachines&signature=s"
        ours = json.loads(answer(plain, "")[1])["listvirtualmachinesresponse"]["virtualmachine"]
        others = [servers._virtual(f"o{n}", f"aferir-other-{n}", runs=True) for n in range(500)]
        return virtual_machines([*others, *ours], asked)

    wanted = field.start("cloudstack", listed)
    cloud = field.cloud(wanted)
    server = cloud.create()
    provider = providers.provider(wanted)
    assert list(provider.find(server.name)) == ["1"]
    assert len(provider.named("aferir-")) == 501
    assert provider.looks([f"o{n}" for n in range(8)] + ["1"])["1"].stage == "booting"
    cloud.delete(server.name)
    assert field.machines.names == {}


def test_a_machine_of_cloudstack_in_state_error_is_destroyed(field: Field) -> None:
    failed = {"errorcode": 533, "errortext": "Unable to create a deployment for VM"}

    def fails(answer: Answer, path: str, body: str) -> tuple[int, str]:
        command = given(path, body)["command"]
        status, text = answer(path, body)
        if command == "queryAsyncJobResult":
            told = {"jobstatus": 2, "jobresultcode": 530, "jobresult": failed}
            return 200, json.dumps({"queryasyncjobresultresponse": told})
        return status, text.replace('"Starting"', '"Error"').replace('"Running"', '"Error"')

    cloud = field.cloud(field.start("cloudstack", fails))
    with pytest.raises(ProgramError, match="Unable to create a deployment for VM"):
        cloud.create()
    assert "destroyVirtualMachine" in field.machines.asked
    assert field.machines.names == {}
    assert list(journal.entries()) == []


def test_states_that_the_library_does_not_know_are_no_fault(field: Field) -> None:
    def odd(answer: Answer, path: str, body: str) -> tuple[int, str]:
        status, text = answer(path, body)
        return status, text.replace('"Starting"', '"Unknown"')

    cloud = field.cloud(field.start("cloudstack", odd))
    cloud.create()
    cloud.delete_all()
    assert field.machines.names == {}


@pytest.mark.parametrize("name", list(WANTED))
@pytest.mark.parametrize(
    "page", [(200, "<html><title>Sign in</title></html>"), (302, ""), (200, "{}"), (200, "")]
)
def test_an_answer_that_is_none_is_an_error_of_the_clouds(
    field: Field, name: ProviderName, page: tuple[int, str]
) -> None:
    wanted = field.start(name, lambda *_: page)
    (finding,) = providers.cloud(wanted).check()
    assert finding.status == "missing"
    assert "list index" not in finding.message or "not understood" in finding.message
    with pytest.raises(AferirError):
        providers.provider(wanted).find("x")
    with pytest.raises(AferirError):
        providers.provider(wanted).named("x")
    assert "secret" not in finding.message


def test_regions_and_types_that_the_library_does_not_know_are_the_clouds_to_judge(
    field: Field, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def ran(answer: Answer, path: str, body: str) -> tuple[int, str]:
        asked = given(path, body)
        seen.append(asked.get("InstanceType", ""))
        return answer(path, body)

    monkeypatch.setenv("AWS_REGION", "xx-nowhere-7")
    wanted = msgspec.structs.replace(field.start("ec2", ran), size="m99.metal")
    cloud = field.cloud(wanted)
    cloud.create()
    cloud.delete_all()
    assert "m99.metal" in seen


def test_tokens_of_sessions_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    base = servers.ec2(Machines())

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("x-amz-security-token", ""))
            content = base(self.path, "")[1].encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    monkeypatch.setenv("HOME", str(tmp_path))
    for name in [one for one in os.environ if one.startswith("AWS_")]:
        monkeypatch.delenv(name)
    (tmp_path / ".aws").mkdir()
    keys = "[work]\naws_access_key_id = a\naws_secret_access_key = s\naws_session_token = lent\n"
    (tmp_path / ".aws/credentials").write_text(keys)
    monkeypatch.setenv("AWS_PROFILE", "work")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_address[1]}")
        assert providers.cloud(WANTED["ec2"]).check()[0].status == "ok"
        server.shutdown()
        thread.join()
    assert set(seen) == {"lent"}
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "b")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "t")
    assert credentials.ec2().token.text == "", "a token belongs to its key"


def test_a_profile_whose_keys_are_lent_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in [one for one in os.environ if one.startswith("AWS_")]:
        monkeypatch.delenv(name)
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/config").write_text("[default]\nsso_session = work\n")
    with pytest.raises(UsageError) as caught:
        credentials.ec2()
    assert "export-credentials" in caught.value.remedy


def test_an_lxd_that_goes_away_is_no_fault_of_ours(
    field: Field, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LXD_SOCKET", str(tmp_path / "unix.socket"))
    cloud = providers.cloud(Wanted(provider="lxd", image="node"))
    with pytest.raises(ProgramError, match="does not answer"):
        cloud.create()
    assert field.machines.names == {}
