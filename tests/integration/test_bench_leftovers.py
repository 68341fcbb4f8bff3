"""Leftovers of a bench, one of each kind, are found; things that others make meanwhile are not."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from aferir.linux import cgroup, journal, limited_disk, namespace, process, scratch
from aferir.model.plan import SCRATCH, EnvironmentSpec
from aferir.selftest.leftovers import leftovers, own_state
from tests.integration.support import usable

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(os.geteuid() != 0, reason="groups, mounts and name spaces take root"),
]
SLEEP = ["sleep", "600"]
Plant = Callable[[], AbstractContextManager[None]]


@contextmanager
def child() -> Iterator[None]:
    """A process that only its environment variables identify."""
    running = process.start(["sh", "-c", "echo; read x"], stdin=-1, stdout=-1)
    assert running.stdout is not None
    running.stdout.readline()  # in the midst of execve(2) it has no variables
    try:
        yield
    finally:
        process.end(running)


@contextmanager
def child_without_variables() -> Iterator[None]:
    """A process that only its working folder identifies."""
    running = subprocess.Popen(SLEEP, env={}, cwd=journal.state_folder())
    try:
        yield
    finally:
        running.kill()
        running.wait()


@contextmanager
def group() -> Iterator[None]:
    entry = journal.write("cgroup", {})
    name, have = f"aferir-{entry.id}", cgroup.layout()
    cgroup.make(name, cgroup.Limits(cpus=0.5), have)
    journal.erase(entry)
    try:
        yield
    finally:
        cgroup.remove(name, have)


@contextmanager
def member_of_a_group() -> Iterator[None]:
    """A process that only its control group identifies."""
    entry = journal.write("cgroup", {})
    name, have = f"aferir-{entry.id}", cgroup.layout()
    folders = cgroup.make(name, cgroup.Limits(cpus=0.5), have)
    running = subprocess.Popen(SLEEP, env={}, cwd="/")
    for folder in folders.values():
        (folder / "cgroup.procs").write_text(str(running.pid))
    try:
        yield
    finally:
        cgroup.remove(name, have)
        running.wait()
        journal.erase(entry)


@contextmanager
def container() -> Iterator[None]:
    spec = EnvironmentSpec(name="e", kind="container", cpus=1, memory_bytes=2**28)
    instance = usable("container").allocate(spec)
    try:
        yield
    finally:
        instance.release()


@contextmanager
def disk() -> Iterator[None]:
    made = limited_disk.mounted(32 * 2**20)
    try:
        yield
    finally:
        limited_disk.give_back(made.entry)


@contextmanager
def star() -> Iterator[None]:
    with namespace.star(2):
        yield


@contextmanager
def listening() -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(journal.state_folder() / "answers"))
        yield


@contextmanager
def scratch_folder() -> Iterator[None]:
    with scratch.private({SCRATCH: "/var/tmp"}):
        yield


@contextmanager
def temporary_file() -> Iterator[None]:
    made = process.run(["mktemp"]).stdout.strip()
    try:
        yield
    finally:
        Path(made).unlink()


@contextmanager
def entry() -> Iterator[None]:
    written = journal.write("cgroup", {})
    try:
        yield
    finally:
        journal.erase(written)


@pytest.mark.parametrize(
    ("plant", "kinds"),
    [
        (child, {"process"}),
        (child_without_variables, {"process"}),
        (group, {"control group"}),
        (member_of_a_group, {"process", "control group", "journal entry"}),
        (container, {"process", "control group", "journal entry", "file"}),
        (disk, {"mount", "loop device", "journal entry", "file"}),
        (star, {"name space", "mount", "journal entry", "file"}),
        (listening, {"socket"}),
        (scratch_folder, {"file", "journal entry"}),
        (temporary_file, {"file"}),
        (entry, {"journal entry"}),
    ],
)
def test_what_a_bench_leaves_is_found_by_it_alone(plant: Plant, kinds: set[str]) -> None:
    known = (
        *("process", "mount", "control group", "name space"),
        *("loop device", "socket", "journal entry", "file"),
    )
    with own_state() as other, own_state() as state:
        with plant():
            found = leftovers(state)
            assert {kind for kind in known for one in found if one.startswith(f"{kind} ")} >= kinds
            assert leftovers(other) == []
        assert leftovers(state) == []


def test_what_a_bench_did_not_release_is_removed_in_the_end() -> None:
    with own_state() as state:
        made = limited_disk.mounted(32 * 2**20)
        assert leftovers(state) != []
    assert not state.exists()
    assert not limited_disk.file_of(made.entry).exists()
    assert leftovers(state) == []


def test_services_of_a_bench_that_run_as_another_user_reach_their_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/var/tmp")  # open, which TMPDIR may not be
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    with own_state():
        process.run([*nobody, "test", "-x", os.environ["TMPDIR"]])
