"""The journal is durable and complete, and identifies entries whose owner is dead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from aferir.linux import journal
from tests.waiting import eventually


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path))
    return tmp_path


def test_an_entry_is_there_until_it_is_erased() -> None:
    entry = journal.write("container", {"name": "x"})
    assert list(journal.entries()) == [entry]
    journal.erase(entry)
    journal.erase(entry)
    assert list(journal.entries()) == []


def test_ids_tell_which_state_folder_they_are_of(
    own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = {journal.write("container", {}).id for _ in range(20)}
    assert len(ids) == 20
    assert {name[:6] for name in ids} == {journal.family(own_state)}
    monkeypatch.setenv("AFERIR_STATE", str(own_state / "other"))
    assert journal.write("container", {}).id[:6] == journal.family(own_state / "other")
    assert journal.family(own_state / "other") != journal.family(own_state)


def test_what_belongs_to_a_living_owner_is_no_orphan() -> None:
    journal.write("container", {})
    assert journal.orphans() == []


def test_what_a_killed_owner_made_is_an_orphan() -> None:
    code = (
        "import time; from aferir.linux import journal\n"
        "journal.write('vm', {'name': 'y'}); print('written', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "written\n"
    assert journal.orphans() == []
    child.send_signal(signal.SIGKILL)
    # Not waited for yet: a zombie has ended too.
    eventually(journal.orphans)
    assert [entry.kind for entry in journal.orphans()] == ["vm"]
    child.stdout.close()
    child.wait()


def test_a_process_id_that_came_back_is_not_the_owner() -> None:
    entry = journal.write("vm", {})
    impostor = journal.Entry(
        id=entry.id,
        kind="vm",
        owner_pid=os.getpid(),
        owner_started=entry.owner_started - 1,
        boot_id=entry.boot_id,
        details={},
    )
    assert journal.owner_lives(entry)
    assert not journal.owner_lives(impostor)


@pytest.mark.skipif(os.geteuid() != 0, reason="a namespace of process numbers needs root")
def test_who_runs_in_another_namespace_of_process_numbers_sees_no_orphan() -> None:
    """A container that shares the state folder must not undo what the host is using."""
    journal.write("vm", {})
    look = "from aferir.linux import journal; print(len(journal.orphans()))"
    inside = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", look]
    assert subprocess.run(inside, capture_output=True, text=True, check=True).stdout == "0\n"
    make = "from aferir.linux import journal; journal.write('container', {})"
    subprocess.run([*inside[:-1], make], check=True)
    assert [entry.kind for entry in journal.orphans()] == ["container"]


def test_a_torn_entry_hides_no_other(own_state: Path) -> None:
    entry = journal.write("vm", {})
    (own_state / "journal" / "torn.json").write_text('{"id": "a')
    assert list(journal.entries()) == [entry]


def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    journal.write_durably(path, b"old")
    journal.write_durably(path, b"new")
    assert path.read_bytes() == b"new"
    assert [p.name for p in path.parent.iterdir()] == ["file"]


def test_what_a_file_keeps_outlives_its_owner_until_the_file_lets_go(own_state: Path) -> None:
    keeper = own_state / "keeper.json"
    code = (
        "import sys; from pathlib import Path; from aferir.linux import journal\n"
        "print(journal.write('vm', {}, kept_by=Path(sys.argv[1])).id)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(keeper)], stdout=subprocess.PIPE, text=True, check=True
    )
    identity = done.stdout.strip()
    assert [entry.id for entry in journal.orphans()] == [identity]
    keeper.write_text(f'{{"nodes": ["{identity}"]}}')
    assert journal.orphans() == []
    keeper.write_text('{"nodes": ["another"]}')
    assert [entry.id for entry in journal.orphans()] == [identity]
    keeper.unlink()
    assert [entry.id for entry in journal.orphans()] == [identity]


def test_an_entry_of_another_host_is_left_to_it() -> None:
    """As in a home that hosts share: what runs there cannot be seen from here."""
    entry = msgspec.structs.replace(journal.write("container", {}), boot_id="another")
    path = journal.state_folder() / "journal" / f"{entry.id}.json"
    path.write_bytes(msgspec.json.encode(entry))
    assert journal.orphans() == [entry]
    elsewhere = msgspec.structs.replace(entry, host="another")
    path.write_bytes(msgspec.json.encode(elsewhere))
    assert journal.orphans() == []
