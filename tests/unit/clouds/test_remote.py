from __future__ import annotations

import base64
import http.server
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from aferir import registry
from aferir.cli import main
from aferir.clouds import lxd, opennebula, providers, remote, removal
from aferir.clouds.base import Template
from aferir.clouds.provider import Consistency, Provider
from aferir.config import load
from aferir.elastic.movie import Show
from aferir.elastic.node import told
from aferir.elastic.video import Video
from aferir.errors import ProgramError, UsageError
from aferir.linux import journal
from aferir.model.cloud import ProviderName, Wanted
from aferir.model.plan import HostLimits
from aferir.registry import all_programs, kinds
from aferir.store import open_run
from tests.unit.clouds import servers
from tests.unit.clouds.servers import Machines

PROVIDERS: tuple[ProviderName, ...] = ("ec2", "cloudstack", "opennebula")
MOST_USER_DATA = 4096
"""Bytes in Base64 that CloudStack takes with GET (deployVirtualMachine); others take more."""
IMAGES = {"ec2": "ami-1", "cloudstack": "aferir-node", "opennebula": ""}
SIZES = {"ec2": "t2.micro", "cloudstack": "small", "opennebula": "aferir-node"}


@pytest.fixture
def service() -> Iterator[int]:
    """Serves status 200 for every request, as an instance does."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture(params=PROVIDERS)
def cloud(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, service: int
) -> Iterator[tuple[Wanted, Machines]]:
    name: ProviderName = request.param
    machines = Machines()
    with servers.served(getattr(servers, name)(machines)) as port:
        url = f"http://127.0.0.1:{port}"
        (tmp_path / "one_auth").write_text("oneadmin:secret\n")
        for variable, value in {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_ENDPOINT_URL": url,
            "CLOUDSTACK_KEY": "key",
            "CLOUDSTACK_SECRET": "secret",
            "CLOUDSTACK_ENDPOINT": f"{url}/client/api",
            "ONE_AUTH": str(tmp_path / "one_auth"),
            "ONE_XMLRPC": f"{url}/RPC2",
        }.items():
            monkeypatch.setenv(variable, value)
        wanted = Wanted(provider=name, image=IMAGES[name], size=SIZES[name], port=service)
        yield wanted, machines


def test_an_instance_is_made_looked_at_until_it_runs_and_given_back(
    cloud: tuple[Wanted, Machines],
) -> None:
    wanted, machines = cloud
    made = providers.cloud(wanted)
    assert [finding.status for finding in made.check()] == ["ok"]
    server = made.create()
    assert server.address == "127.0.0.1"
    assert list(machines.names.values()) == [server.name]
    assert machines.looks["1"] > servers.LOOKS
    phases = {phase.name: phase.seconds for phase in server.phases}
    assert (phases["TeF"] is None) == (wanted.provider != "opennebula")
    assert sum(seconds or 0.0 for seconds in phases.values()) == pytest.approx(server.total_s)
    made.delete(server.name)
    made.delete(server.name)
    assert machines.names == {}
    assert list(journal.entries()) == []


def test_instances_are_given_user_data_if_their_context_takes_any(
    cloud: tuple[Wanted, Machines],
) -> None:
    wanted, machines = cloud
    source = "http://10.0.0.1/video.mp4"
    asked = msgspec.structs.replace(wanted, context="cloud-init", source=source)
    for one in (wanted, told(asked, Video(seconds=1.0))):
        made = providers.cloud(one)
        made.create()
        made.delete_all()
    none, given = machines.user_data
    assert none == ""
    text = base64.b64decode(given).decode()
    assert text.startswith("#cloud-config\n")
    assert source in text
    assert len(given) < MOST_USER_DATA


def test_one_instance_that_cannot_be_removed_does_not_keep_the_others(
    cloud: tuple[Wanted, Machines], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, machines = cloud
    made = providers.cloud(wanted)
    assert isinstance(made, remote.RemoteCloud)
    stays, goes = made.create(), made.create()
    remove = removal.remove

    def refuse_one(provider: Provider, one: removal.Made) -> float:
        if one.name == stays.name:
            raise ProgramError("refused")
        return remove(provider, one)

    monkeypatch.setattr(removal, "remove", refuse_one)
    with pytest.raises(ProgramError, match="refused"):
        made.delete_all()
    assert goes.name not in machines.names.values()
    assert [remote.name_of(entry) for entry in journal.entries()] == [stays.name]


def test_one_container_of_lxd_that_cannot_be_removed_does_not_keep_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = lxd.Place(socket=tmp_path / "socket", bridge="br0", network="10.78.0")
    made = lxd.LxdCloud(place, "f", Template(start="", probe="/"))
    stays, goes = (journal.write(lxd.KIND, {"socket": ""}) for _ in range(2))
    made._taken = {2: stays, 3: goes}

    def refuse_one(entry: journal.Entry) -> None:
        if entry.id == stays.id:
            raise ProgramError("refused")
        journal.erase(entry)

    monkeypatch.setattr(lxd, "give_back", refuse_one)
    with pytest.raises(ProgramError, match="refused"):
        made.delete_all()
    assert [entry.id for entry in journal.entries()] == [stays.id]


def test_a_cloud_has_a_quota_of_its_own_unless_it_is_to_be_less(
    cloud: tuple[Wanted, Machines], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, _ = cloud
    shows: list[Show] = []

    def play(show: Show, *_: object, **__: object) -> None:
        shows.append(show)
        raise ProgramError("enough")

    monkeypatch.setattr("aferir.elastic.movie.play", play)
    experiment(wanted, tmp_path)
    command = ["elastic", "measure", "movie", "--cloud", str(tmp_path / "cloud.toml")]
    for more in ([], ["--hosts", "3", "--per-host", "2"]):
        assert main([*command, "--clients-per-node", "40", *more]) == 4
    assert [show.policy.most_nodes for show in shows] == [None, 6]
    # Front gives an allocation up when the cloud's own limit ends, not before.
    assert {show.allocation_s for show in shows} == {wanted.limit_s}


def test_clean_removes_what_a_killed_process_left(cloud: tuple[Wanted, Machines]) -> None:
    wanted, machines = cloud
    providers.cloud(wanted).create()
    (entry,) = journal.entries()
    assert "secret" not in msgspec.json.encode(entry).decode()
    assert registry.clean([entry]) == []
    assert machines.names == {}
    assert list(journal.entries()) == []


def test_an_instance_that_vanishes_while_it_is_made_is_an_error_and_leaves_nothing(
    cloud: tuple[Wanted, Machines], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, machines = cloud
    add = machines.add

    def lose(name: str) -> str:
        number = add(name)
        machines.names.pop(number)
        machines.names["0"] = "of somebody else"
        machines.looks["0"] = 0
        return number

    monkeypatch.setattr(machines, "add", lose)
    made = providers.cloud(wanted)
    assert isinstance(made, remote.RemoteCloud)
    made._cloud.consistency = Consistency(appears_s=0.3, apart_s=0.1)
    with pytest.raises(ProgramError, match="lost an instance"):
        made.create()
    assert machines.names == {"0": "of somebody else"}
    assert list(journal.entries()) == []


def test_what_fails_is_said_in_the_clouds_own_words_without_the_secret(
    cloud: tuple[Wanted, Machines],
) -> None:
    wanted, machines = cloud
    machines.fails = True
    if wanted.provider == "cloudstack":
        wanted = msgspec.structs.replace(wanted, size="of no cloud")
    with pytest.raises((ProgramError, UsageError)) as caught:
        providers.cloud(wanted).create()
    assert "secret" not in str(caught.value)
    assert machines.names == {}
    assert list(journal.entries()) == []


@pytest.mark.parametrize(
    ("state", "step", "stage"),
    [
        *((1, 0, "placing"), (10, 0, "placing"), (3, 1, "copying"), (3, 2, "booting")),
        *((3, 3, "booting"), (3, 39, "failed"), (7, 0, "failed"), (6, 0, "gone")),
    ],
)
def test_states_of_opennebula(state: int, step: int, stage: str) -> None:
    described = f"<VM><STATE>{state}</STATE><LCM_STATE>{step}</LCM_STATE></VM>"
    assert opennebula.look_of(described).stage == stage


def test_an_entry_of_another_version_is_no_crash() -> None:
    entry = journal.write(remote.KIND, {"wanted": "{}"})
    (problem,) = registry.clean([entry])
    assert "not readable" in problem
    journal.erase(entry)


def test_what_could_not_be_removed_is_not_said_to_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = journal.write(remote.KIND, {"wanted": "{}"})
    monkeypatch.setattr(journal, "orphans", lambda: [entry])
    assert main(["clean"]) == 1
    said = capsys.readouterr().out
    assert f"could not remove instance {entry.id}" in said
    assert f"removed instance {entry.id}" not in said


EXPERIMENT = """
[experiment]
name = "e"
baseline = "far"
warmup = 0
[stop]
repetitions = 2
[[environment]]
name = "far"
kind = "cloud"
cloud = "{file}"
[[workload]]
name = "instance"
program = "elastic-allocation"
time_limit = "1000 s"
"""


def experiment(wanted: Wanted, folder: Path) -> Path:
    told = [
        f"{key} = {value}" if isinstance(value, int) else f'{key} = "{value}"'
        for key, value in msgspec.structs.asdict(wanted).items()
        if key != "limit_s"
    ]
    (folder / "cloud.toml").write_text("\n".join(told))
    path = folder / "e.toml"
    path.write_text(EXPERIMENT.format(file=folder / "cloud.toml"))
    return path


def test_an_experiment_measures_allocations_of_a_cloud_without_root(
    cloud: tuple[Wanted, Machines], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, machines = cloud
    monkeypatch.setattr("aferir.machine.privileges.is_root", lambda: False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    path = experiment(wanted, tmp_path)
    assert main(["run", str(path), "--runs", str(tmp_path / "runs")]) == 0
    (folder,) = (tmp_path / "runs").iterdir()
    records = [one for one in open_run(folder).records if one.workload == "instance"]
    assert [one.failure for one in records] == [None, None]
    for record in records:
        values = {one.metric: one.value for one in record.samples}
        assert 0 < values["tar_s"] <= values["duration_s"]
        assert values["tlr_s"] > 0
    assert machines.names == {}
    assert b"secret" not in b"".join(one.read_bytes() for one in folder.iterdir() if one.is_file())


def test_an_experiment_on_a_cloud_that_cannot_be_reached_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ONE_AUTH", raising=False)
    path = experiment(Wanted(provider="opennebula", size="node"), tmp_path)
    main(["run", str(path), "--runs", str(tmp_path / "runs")])
    (folder,) = (tmp_path / "runs").iterdir()
    failures = [one.failure for one in open_run(folder).records]
    assert failures
    said = [(one.message, one.remedy) for one in failures if one is not None]
    assert len(said) == len(failures)
    assert all("no credentials" in one and "one_auth" in remedy for one, remedy in said), said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("elastic-allocation", "memory-bandwidth"), "cannot run"),
        (("elastic-allocation", "elastic-capacity"), "cannot run"),
        (('kind = "cloud"', 'kind = "cloud"\ntenants = 2'), "tenants"),
        (('kind = "cloud"', 'kind = "native"'), "means nothing for kind native"),
        (("cloud.toml", "gone.toml"), "gone.toml"),
    ],
)
def test_what_is_impossible_in_a_cloud_is_said(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    path = experiment(Wanted(provider="ec2", image="ami-1"), tmp_path)
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(UsageError, match=re.escape(said)):
        load(path, HostLimits(cpus=(0,), memory_bytes=2**32), all_programs(), kinds())
