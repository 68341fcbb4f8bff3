"""Instances of aferir in a cloud, found by their tag, whatever the journal contains."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import get_args
from xmlrpc.client import dumps, loads

import pytest

from aferir import registry
from aferir.cli import main
from aferir.clouds import known, lxd, providers, remote
from aferir.clouds.base import serves
from aferir.errors import ProgramError
from aferir.linux import journal
from aferir.model.cloud import ProviderName
from tests.unit.clouds.spoilt import WANTED, Answer, Field


@pytest.fixture
def field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Field]:
    with ExitStack() as stack:
        yield Field(stack, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", list(WANTED))
def test_clean_finds_by_its_tag_what_no_entry_tells_of(
    field: Field, name: ProviderName, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = field.start(name, lambda answer, path, body: answer(path, body))
    cloud = field.cloud(wanted, appears_s=1.5)
    lives, lost = cloud.create(), cloud.create()
    other = field.machines.add("aferir-0badcafe-0123456789ab")
    for entry in journal.entries():
        if remote.name_of(entry) == lost.name:
            journal.erase(entry)
    assert main(["clean", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"] == [f"instance {lost.name}"]
    assert set(field.machines.names.values()) == {lives.name, field.machines.names[other]}
    cloud.delete_all()


def test_what_others_made_is_told_and_removed_only_when_asked_for(
    field: Field, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = field.start("opennebula", lambda answer, path, body: answer(path, body))
    field.machines.add("aferir-0badcafe-0123456789ab")
    own = field.machines.add("aferir-production")  # no aferir gives such a name
    path = tmp_path / "cloud.toml"
    path.write_text('provider = "opennebula"\nsize = "aferir-node"\n')
    assert main(["clean", "--cloud", str(path)]) == 0
    assert "left alone: instance aferir-0badcafe" in capsys.readouterr().out
    assert len(field.machines.names) == 2
    assert main(["clean", "--cloud", str(path), "--of-others"]) == 0
    assert field.machines.names == {own: "aferir-production"}
    assert main(["clean", "--of-others"]) == 2
    assert wanted.provider in get_args(ProviderName)


def test_credentials_that_lead_elsewhere_erase_no_entry(
    field: Field, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = field.cloud(field.start("ec2", lambda answer, path, body: answer(path, body)))
    cloud.create()
    (entry,) = journal.entries()
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    (problem,) = registry.clean([entry])
    assert "us-east-1" in problem
    assert journal.read(entry.id) is not None
    (swept,) = known.sweep(providers.search).problems
    assert "us-east-1" in swept
    monkeypatch.delenv("AWS_REGION")
    assert registry.clean([entry]) == []
    assert field.machines.names == {}


@pytest.mark.parametrize("status", [405, 501, 404])
def test_a_service_that_knows_no_head_is_asked_for_all_of_it(status: int) -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(status)
            self.end_headers()

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        assert serves("127.0.0.1", server.server_address[1], "/")
        server.shutdown()
        thread.join()


def test_errors_of_opennebula_are_told_by_their_codes(field: Field) -> None:
    def internal(answer: Answer, path: str, body: str) -> tuple[int, str]:
        _, method = loads(body)
        if method == "one.template.instantiate":
            refused = [False, "no room left by the quota", 0x0800]
            return 200, dumps((refused,), methodresponse=True)
        return answer(path, body)

    cloud = field.cloud(field.start("opennebula", internal))
    with pytest.raises(ProgramError, match="no room left by the quota"):
        cloud.create()
    assert list(journal.entries()) == []


def test_an_lxd_that_is_started_anew_has_its_instances_still(field: Field, tmp_path: Path) -> None:
    """Its socket refuses for a while; the containers run on."""
    theirs = journal.write(lxd.KIND, {"socket": str(tmp_path / "unix.socket")})
    (problem,) = registry.clean([theirs])
    assert "does not answer" in problem
    assert journal.read(theirs.id) is not None
    ours = journal.write(lxd.KIND, {"socket": str(tmp_path / "unix.socket"), "ours": "yes"})
    gone = journal.write(lxd.KIND, {"socket": str(tmp_path / "removed" / "unix.socket")})
    assert registry.clean([ours, gone]) == []
    assert field.machines.names == {}
