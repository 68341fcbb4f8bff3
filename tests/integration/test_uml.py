"""Guests under User-Mode Linux, tested as guests in `tests/integration/test_vm.py` are."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from aferir import registry
from aferir.environments.qemu.spec import GuestSpec
from aferir.environments.uml import guest, machine
from aferir.environments.uml.guest import Guest, Wanted
from aferir.environments.uml.machine import Share
from aferir.errors import MissingError, ProgramError
from aferir.image.userland import Image
from aferir.linux import journal, undo
from tests.integration.support import (
    built,
    check_commands,
    check_files,
    check_timeout,
    leftovers,
    own_state,
    usable,
)
from tests.waiting import eventually

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module", autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        yield own_state(tmp_path_factory, patch)


@pytest.fixture(scope="module")
def base(state: Path) -> Image:  # noqa: ARG001 - its state is ours
    try:
        machine.find()
    except MissingError as error:
        pytest.skip(f"{error.message}; {error.remedy}")
    return built()


@pytest.fixture(scope="module")
def instance(base: Image) -> Iterator[Guest]:
    made = guest.boot(base, Wanted(modules=("bonding", "veth")))
    try:
        yield made
    finally:
        made.release()
    assert leftovers() == []


def marked(mark: str) -> list[int]:
    """Processes with the mark of that journal entry."""
    return undo.processes(lambda _, variables: variables.get(undo.MARK) == mark)


def test_one_that_is_placed_nowhere_is_on_one_processor(instance: Guest) -> None:
    assert len(os.sched_getaffinity(instance.pid)) == 1


def test_phases_add_up(instance: Guest) -> None:
    phases = instance.phases
    parts = (phases.copied_s, phases.booted_s, phases.ready_s)
    assert all(part is not None and part > 0 for part in parts)
    assert sum(part or 0 for part in parts) == pytest.approx(phases.total_s)


def test_programs_run_as_anywhere_else(instance: Guest) -> None:
    check_commands(instance)


def test_a_time_limit_ends_everything(instance: Guest) -> None:
    check_timeout(instance)


def test_files_go_in_and_out(instance: Guest, tmp_path: Path) -> None:
    check_files(instance, tmp_path)


def test_a_name_is_no_part_of_a_script(instance: Guest, tmp_path: Path) -> None:
    (tmp_path / "one").write_text("1\n", encoding="ascii")
    target = PurePosixPath('/tmp/$(touch "/tmp/made")/-q')
    instance.put(tmp_path / "one", target)
    instance.get(target, tmp_path / "two")
    assert (tmp_path / "two").read_text(encoding="ascii") == "1\n"
    assert instance.run(["ls", "/tmp/made"], check=False).exit_code != 0


def test_it_has_a_kernel_of_its_own_with_the_modules(instance: Guest) -> None:
    assert instance.run(["uname", "-r"]).stdout.strip() == machine.find().release
    assert instance.run(["nproc"]).stdout.strip() == "1"
    assert "Bonding Driver" in instance.run(["cat", "/proc/net/bonding/bond0"]).stdout


def test_it_reaches_no_file_of_the_host(instance: Guest) -> None:
    look = "mkdir /tmp/all && mount -t hostfs -o / none /tmp/all && ls /tmp/all"
    assert instance.run(["sh", "-c", look]).stdout == ""


def test_a_paused_one_stands_still(instance: Guest) -> None:
    counting = "i=0; while :; do i=$((i+1)); echo $i > /run/count; done"
    instance.run(["sh", "-c", f"({counting}) > /dev/null 2>&1 & echo $! > /run/counter"])
    before = ticks(instance)
    eventually(lambda: ticks(instance) != before)
    instance.pause()
    try:
        paused = ticks(instance)
        time.sleep(0.2)
        still = ticks(instance)
    finally:
        instance.resume()  # the tests after this one run programs in it
    assert still == paused
    eventually(lambda: ticks(instance) != paused)
    instance.run(["sh", "-c", "kill $(cat /run/counter)"])


def ticks(instance: Guest) -> int:
    """CPU time of its programs and of its kernel in clock ticks (proc(5))."""
    mark = journal_id()
    total = 0
    for pid in [instance.pid, *marked(mark)]:
        with contextlib.suppress(OSError):  # that of a program of the guest which has ended
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
            fields = text.rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total


def journal_id() -> str:
    (entry,) = (entry for entry in journal.entries() if entry.kind == guest.KIND)
    return entry.id


def test_a_folder_of_the_host_is_seen_and_two_guests_hear_each_other(
    base: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    (tmp_path / "word").write_text("here\n", encoding="ascii")
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    share = Share(tmp_path, PurePosixPath("/mnt/host"))
    hosts: list[Guest] = []
    try:
        for number, end in enumerate(pair, 1):
            hosts.append(guest.boot(base, Wanted(wires=[end.fileno()], shares=[share])))
            address = f"ip address add 10.0.0.{number}/24 dev vec0 && ip link set vec0 up"
            hosts[-1].run(["sh", "-c", address])
        assert hosts[0].run(["cat", "/mnt/host/word"]).stdout == "here\n"
        assert hosts[0].run(["touch", "/mnt/host/word"], check=False).exit_code != 0
        served = "ip neighbour show 10.0.0.1 dev vec0"
        assert "lladdr" not in hosts[1].run(["sh", "-c", served]).stdout
        asked = "exec 3<>/dev/tcp/10.0.0.2/9"  # nobody listens, which is an answer
        said = hosts[0].run(["bash", "-c", asked], check=False).stderr
        assert "refused" in said
        assert "lladdr" in hosts[1].run(["sh", "-c", served]).stdout
    finally:
        for host in hosts:
            host.release()
        for end in pair:
            end.close()
    assert leftovers() == []


def test_a_guest_under_qemu_starts_from_the_same_image_beside_it(
    instance: Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """User-Mode Linux locks the image, which is all right as long as both only read it."""
    qemu = usable("vm")
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path))
    beside = qemu.allocate(GuestSpec(name="beside", cpus=1, memory_bytes=2**28))
    try:
        kernels = {one.run(["uname", "-r"]).stdout for one in (instance, beside)}
        assert len(kernels) == 2
    finally:
        beside.release()
    assert leftovers() == []


def test_a_module_that_there_is_not_is_an_error(base: Image) -> None:
    before = list(journal.entries())
    with pytest.raises(MissingError, match="no module no_such_thing"):
        guest.boot(base, Wanted(modules=("no_such_thing",)))
    assert list(journal.entries()) == before


def test_one_that_does_not_boot_is_an_error_and_leaves_nothing(
    base: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path))
    with pytest.raises(ProgramError, match="did not boot: its kernel ended"):
        guest.boot(base, Wanted(memory_bytes=2**22))
    assert leftovers() == []


@pytest.mark.parametrize("inside", [False, True], ids=["its-kernel", "all-but-its-first-program"])
def test_a_guest_that_dies_is_an_error_and_leaves_nothing(
    base: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: bool
) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path))
    dying = guest.boot(base, Wanted())
    if not inside:
        os.kill(dying.pid, signal.SIGKILL)
    with pytest.raises(ProgramError):
        dying.run(["sh", "-c", "kill -KILL -1"] if inside else ["sleep", "5"])
    dying.release()
    dying.release()
    with pytest.raises(ProgramError):
        dying.run(["true"])
    assert leftovers() == []


BOOTING = """
from aferir.image import userland
from aferir.environments.uml import guest
made = guest.boot(userland.ensure(), guest.Wanted())
made.run(["sh", "-c", "while :; do :; done > /dev/null 2>&1 &"])
print("go", flush=True)
input()
"""


def test_after_a_kill_its_kernel_is_gone_and_clean_removes_the_rest(
    base: Image,  # noqa: ARG001 - there is one
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path))
    child = subprocess.Popen(
        [sys.executable, "-c", BOOTING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "go\n"
        mark = journal_id()
        assert marked(mark)
        child.send_signal(signal.SIGKILL)
    if os.geteuid() == 0:  # an ordinary user may have to clean first
        eventually(lambda: not marked(mark))
    for _ in range(2):
        assert registry.clean(journal.orphans()) == []
    assert marked(mark) == []
    assert leftovers() == []
