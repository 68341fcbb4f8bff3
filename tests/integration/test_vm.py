from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir.environments.base import Environment, Instance
from aferir.environments.qemu import kvm
from aferir.environments.qemu.spec import GuestSpec
from aferir.errors import MissingError, ProgramError, UsageError
from aferir.image import plain_kernel, userland
from aferir.linux import cgroup, journal
from aferir.model.plan import EnvironmentSpec
from tests.integration.contract import EveryKind
from tests.integration.support import (
    allocated,
    cpu_s,
    groups_of,
    leftovers,
    own_state,
    quota,
    usable,
)

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module", autouse=True)
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        yield own_state(tmp_path_factory, patch)


@pytest.fixture(scope="module")
def guests(own: Path) -> Environment:  # noqa: ARG001 - its state is ours
    return usable("vm")


@pytest.fixture(scope="module")
def guest(guests: Environment) -> Iterator[Instance]:
    yield from allocated(guests, spec())


def spec(**changes: object) -> EnvironmentSpec:
    values = {"name": "v", "kind": "vm", "cpus": 2, "memory_bytes": 2**28, **changes}
    return GuestSpec(**values)  # type: ignore[arg-type]


class TestGuest(EveryKind):
    """The contract on one shared guest, as booting takes long where guests are emulated."""

    kind = "vm"
    kills = 5
    longest_start_s = 5.0
    entries = ("vm", "trial")

    @pytest.fixture(autouse=True)
    def state(self, own: Path) -> Path:
        return own

    @pytest.fixture
    def environment(self, guests: Environment) -> Environment:
        return guests

    @pytest.fixture
    def instance(self, guest: Instance) -> Instance:
        return guest

    def used(self, instance: Instance) -> float:
        return cpu_s(instance.accounting.processors)


def has(guest: Instance, disk: str, driver: str) -> None:
    """Its root is on that disk, and its network device has that driver."""
    said = guest.run(["sh", "-c", "cat /proc/mounts; ethtool -i eth0"]).stdout
    assert f"/dev/{disk} / ext4" in said
    assert f"driver: {driver}\n" in said


def test_phases_add_up_and_it_boots_soon(guest: Instance) -> None:
    phases = guest.phases
    parts = (phases.copied_s, phases.booted_s, phases.ready_s)
    assert all(part is not None and part > 0 for part in parts)
    assert sum(part or 0 for part in parts) == pytest.approx(phases.total_s)


def test_it_has_its_own_kernel_cpus_and_memory(guest: Instance) -> None:
    base = userland.find(userland.host_recipe())
    assert base is not None
    assert guest.run(["uname", "-r"]).stdout.strip() == base.metadata.kernel_release
    # Not nproc: Linux waits 10 s for a processor, which may be emulated later on a busy machine.
    present = guest.run(["cat", "/sys/devices/system/cpu/present"]).stdout
    assert present == "0-1\n"
    kib = int(guest.run(["grep", "MemTotal", "/proc/meminfo"]).stdout.split()[1])
    assert 2**28 * 0.6 < kib * 1024 < 2**28
    assert guest.accounting.own_kernel


def test_it_starts_the_kernel_in_the_form_for_its_accelerator(guest: Instance) -> None:
    base = userland.find(userland.host_recipe())
    assert base is not None
    (pid,) = guest.accounting.processes
    words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")
    started = plain_kernel.beside(base.kernel) if guest.emulated else base.kernel
    assert words[words.index("-kernel") + 1] == str(started)


def test_two_threads_may_run_programs_at_a_time(guest: Instance) -> None:
    found: list[str] = []

    def run(word: str) -> None:
        found.append(guest.run(["sh", "-c", f"sleep 0.3; echo {word}"]).stdout)

    threads = [threading.Thread(target=run, args=(word,)) for word in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == ["one\n", "two\n"]


def test_a_guest_is_limited_pinned_and_gone_after_release(guests: Environment) -> None:
    last = max(os.sched_getaffinity(0))
    before = {entry.id for entry in journal.entries()}
    keys = {"disk_device": "scsi", "network_device": "virtio", "memory_bytes": 3 * 2**27}
    limited = guests.allocate(spec(cpus=1, pin=(last,), cpu_quota=0.5, **keys))
    ids = [entry.id for entry in journal.entries() if entry.id not in before]
    (qemu,) = limited.accounting.processes
    assert os.sched_getaffinity(qemu) == {last}
    (group,) = limited.accounting.cgroups.values()
    assert cgroup.members(group) == {qemu}
    assert quota(limited.accounting.cgroups) == pytest.approx(0.5)
    has(limited, "sda", "virtio_net")
    limited.pause()
    assert limited.release() > 0
    limited.release()
    assert groups_of(ids) == []
    assert not Path(f"/proc/{qemu}").exists()
    with pytest.raises(ProgramError):
        limited.run(["true"])


def test_a_guest_that_dies_is_an_error_and_leaves_nothing(
    guests: Environment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path))
    keys = {"disk_device": "ide", "machine": "pc", "network_device": "rtl8139"}
    dying = guests.allocate(spec(**keys, memory_bytes=3 * 2**27))
    try:
        has(dying, "sda", "8139cp")
        with pytest.raises(ProgramError, match="the guest is gone"):
            dying.run(["sh", "-c", "kill -KILL -1"])  # all but its first program, which ends it
    finally:
        dying.release()
    assert leftovers() == []


def test_the_verdict_on_kvm_is_asked_for_once_whatever_the_state_folder(
    guests: Environment,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    base = userland.find(userland.host_recipe())
    assert base is not None
    first = kvm.verdict(base)
    monkeypatch.setattr(kvm, "_trial", pytest.fail)
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path))
    assert kvm.verdict(base) == first
    assert first.reason


def test_its_hardware_kernel_and_disk_are_what_was_asked_for(guests: Environment) -> None:
    base = userland.find(userland.host_recipe())
    assert base is not None
    keys = {"cpu_model": "Nehalem", "machine": "pc", "disk_device": "nvme"}
    own = {"kernel": str(base.kernel), "disk_size_bytes": 5 * 2**30}
    asked = guests.allocate(spec(**keys, **own))
    try:
        look = "cat /proc/cpuinfo /proc/mounts /sys/class/dmi/id/product_name; uname -r"
        said = asked.run(["sh", "-c", f"{look}; df --output=size -B1 / | tail -n 1"]).stdout
    finally:
        asked.release()
    assert "Nehalem" in said
    assert "/dev/nvme0n1 / ext4" in said
    assert "i440FX" in said
    *_, release, size_bytes = said.splitlines()
    assert release == base.metadata.kernel_release
    assert int(size_bytes) > 4.5 * 2**30


def test_its_disk_is_on_a_sata_port_beside_an_e1000(guests: Environment) -> None:
    keys = {"disk_device": "sata", "network_device": "e1000", "memory_bytes": 3 * 2**27}
    asked = guests.allocate(spec(**keys))
    try:
        has(asked, "sda", "e1000")
    finally:
        asked.release()


def test_a_microvm_boots_by_kvm_alone(guests: Environment) -> None:
    base = userland.find(userland.host_recipe())
    assert base is not None
    if not kvm.verdict(base).works:
        before = list(journal.entries())
        with pytest.raises(MissingError, match="board microvm") as error:
            guests.allocate(spec(machine="microvm"))
        assert error.value.remedy == 'machine = "q35"'
        assert list(journal.entries()) == before
        return
    asked = guests.allocate(spec(machine="microvm"))
    try:
        disk = asked.run(["readlink", "/sys/block/vda"]).stdout
    finally:
        asked.release()
    assert "LNRO0005" in disk, "the identity of a virtio-mmio device in ACPI"


def test_a_disk_without_room_and_a_kernel_that_is_none_are_refused(guests: Environment) -> None:
    before = list(journal.entries())
    with pytest.raises(UsageError, match="no room for the image"):
        guests.allocate(spec(disk_size_bytes=2**20))
    with pytest.raises(UsageError, match="is no file"):
        guests.allocate(spec(kernel="/none-such"))
    assert list(journal.entries()) == before


def test_a_processor_that_there_is_not_is_told(guests: Environment) -> None:
    before = list(journal.entries())
    with pytest.raises(ProgramError, match="unable to find CPU model"):
        guests.allocate(spec(cpu_model="no-such-model"))
    assert list(journal.entries()) == before
