"""The pair of network namespaces carries datagrams, and no kill leaves anything of it behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aferir import registry
from aferir.errors import ProgramError
from aferir.linux import journal, namespace, process, undo
from tests.integration.support import namespaces_of, own_state
from tests.waiting import eventually

pytestmark = [
    pytest.mark.integration,
    pytest.mark.usefixtures("state"),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]
MAKING = """
import time
from aferir.linux import process
from aferir.linux import namespace, undo
with namespace.veth_pair() as pair:
    inside = ["ip", "netns", "exec", pair.client, "sleep", "4322"]
    child = process.start(inside, environment={undo.MARK: pair.mark}, survives_us=True)
    print(pair.mark, flush=True)
    time.sleep(60)
"""
LISTEN = """
import socket, sys
with socket.create_server((sys.argv[1], 0)) as server:
    print(server.getsockname()[1], flush=True)
    server.accept()
"""
CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])))"


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


def names(mark: str) -> list[Path]:
    return list(namespace.FOLDER.glob(f"*{mark}*"))


def folders() -> list[Path]:
    return list(journal.state_folder().glob("namespaces/*"))


def comes_up(mark: str) -> bool:
    """Whether something of ours runs: while it is being executed it shows no environment."""
    return bool(eventually(lambda: marked(mark)))


def marked(mark: str) -> list[int]:
    return undo.processes(lambda _, variables: variables.get(undo.MARK, "").startswith(mark))


def test_it_carries_datagrams_and_goes_away() -> None:
    host = {path.name for path in Path("/sys/class/net").iterdir()}
    with namespace.veth_pair() as pair:
        assert len(names(pair.mark)) == 2
        assert [entry.kind for entry in journal.entries()] == [namespace.KIND]
        added = {path.name for path in Path("/sys/class/net").iterdir()} - host
        assert pair.interface not in added  # others of the machine may be
        inside = ["ip", "netns", "exec", pair.client]
        asked = process.run([*inside, "ip", "-o", "route", "get", pair.server_address])
        assert f"dev {pair.interface}" in asked.stdout
    assert names(pair.mark) == []
    assert folders() == []
    assert list(journal.entries()) == []


def test_the_hosts_of_a_star_reach_one_another() -> None:
    with namespace.star(3) as star:
        assert len(names(star.mark)) == 4
        first, last = star.hosts[0], star.hosts[2]
        listening = ["ip", "netns", "exec", last.name, sys.executable, "-c", LISTEN, last.address]
        child = process.start(listening, stdout=subprocess.PIPE, environment={undo.MARK: star.mark})
        assert child.stdout is not None
        port = child.stdout.readline().strip()
        asking = ["ip", "netns", "exec", first.name, sys.executable, "-c", CONNECT]
        process.run([*asking, last.address, port])
        process.end(child)
    assert names(star.mark) == []
    assert folders() == []
    assert list(journal.entries()) == []


def test_a_failure_on_the_way_leaves_nothing(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = namespace.commands
    monkeypatch.setattr(namespace, "commands", lambda pair: [*made(pair)[:4], ["false"]])
    with pytest.raises(ProgramError), namespace.veth_pair():
        pass
    assert namespaces_of(state) == []
    assert list(journal.entries()) == []


def test_after_a_kill_clean_removes_it_and_what_runs_inside() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", MAKING], stdout=subprocess.PIPE, text=True, env={**os.environ}
    )
    assert child.stdout is not None
    with child.stdout as lines:
        mark = lines.readline().strip()
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    assert len(names(mark)) == 2
    assert len(folders()) == 1
    assert comes_up(mark)
    orphans = journal.orphans()
    assert [entry.id for entry in orphans] == [mark]
    for _ in range(2):  # a second time there is nothing to do, and no harm done
        assert registry.clean(orphans) == []
    assert names(mark) == []
    assert marked(mark) == []
    assert folders() == []
    assert list(journal.entries()) == []
