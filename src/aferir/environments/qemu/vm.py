"""Guests under QEMU: with KVM if a trial guest boots, emulated elsewhere."""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from aferir.environments import agent, console
from aferir.environments.base import Accounting, Kind, Phases
from aferir.environments.guest import GuestWithAgent
from aferir.environments.jsonsocket import JsonSocket
from aferir.environments.qemu import boot, command_line, kvm, monitor
from aferir.environments.qemu.hardware import Hardware
from aferir.environments.qemu.network import GuestNetwork, Link, linked
from aferir.environments.qemu.spec import FEATURES, KIND, GuestSpec
from aferir.errors import AferirError, MissingError, ProgramError
from aferir.image import initramfs, userland
from aferir.image.progress import Progress, silent
from aferir.linux import affinity, cgroup, events, journal, pages, process, undo
from aferir.machine import facts, needed, packages
from aferir.model.finding import Finding
from aferir.model.plan import EnvironmentSpec

_PROGRAMS = (command_line.PROGRAM, "qemu-img")
_BOOT_LIMIT_S = 300.0
"""Time limit of a boot in s: an emulated guest on a busy host is slow, but a guest may also hang.
"""


def name_of(entry: journal.Entry) -> str:
    """Name of the guest, of its folder and of its control groups."""
    return f"aferir-{entry.id}"


def folder_of(entry: journal.Entry) -> Path:
    """Folder of a guest's disk and sockets."""
    return Path(entry.details["vms"]) / name_of(entry)


class VirtualMachine:
    """Makes guests under QEMU; does not require root."""

    kind = KIND

    def __init__(
        self,
        progress: Progress = silent,
        *,
        counted: bool = False,
        disk: Path | None = None,
        network: GuestNetwork | None = None,
        wires: Sequence[command_line.Wire] = (),
        seed: Path | None = None,
    ) -> None:
        """Set how guests are made; `counted`: emulated, with clocks that count instructions.

        Then events inside take the same guest time however busy the host is. `disk` replaces the
        image's own, `network` connects a guest to a network, and `wires` lead to other guests.
        `seed` is a second disk for a first program of `disk` itself; no agent is waited for then.
        """
        self._progress = progress
        self._counted = counted
        self._disk = disk
        self._network = network
        self._wires = tuple(wires)
        self._seed = seed

    def check(self) -> list[Finding]:
        """Check QEMU, an image or the means to build one, and KVM, which is tested by a boot."""
        if os.uname().machine != "x86_64":
            said = f"guests are made for x86_64, and this host is {os.uname().machine}"
            return [Finding(KIND, "missing", said, "use an x86_64 host")]
        if absent := packages.missing(_PROGRAMS):
            said = f"QEMU is not installed ({', '.join(absent)})"
            return [Finding(KIND, "missing", said, packages.install_command(absent))]
        if found := userland.check():
            return [Finding(KIND, f.status, f.message, f.remedy) for f in found]
        base = userland.find(userland.host_recipe())
        version = facts.tool_version("qemu")
        if base is None:
            return [
                Finding(KIND, "ok", f"{version}; the image is built, and KVM tried, at first use")
            ]
        found_kvm = kvm.verdict(base)
        if found_kvm.works:
            return [Finding(KIND, "ok", f"{version} with KVM")]
        said = f"{version} emulates guests in software: {found_kvm.reason}"
        return [Finding(KIND, "degraded", said, "use a host with hardware virtualisation")]

    def prepare(self, packages: tuple[str, ...] = ()) -> str:
        """Build or find the image, and test KVM; returns the image's content hash."""
        base = userland.ensure(self._progress, packages)
        kvm.verdict(base)
        return base.metadata.hash

    def allocate(self, spec: EnvironmentSpec) -> GuestInstance:
        """Make and boot a guest; call it from the main thread, see `process.start`.

        Errors: MissingError if `check` has a finding, ProgramError if the guest does not
        boot.
        """
        needed.require(self.check())
        base = userland.ensure(self._progress, spec.packages)
        accelerator = self._accelerator(base)
        hardware, image, size_bytes = Hardware(), "", 0
        if isinstance(spec, GuestSpec):
            hardware, image, size_bytes = spec.hardware(), spec.image, spec.disk_size_bytes
        _check_board(hardware, accelerator)
        seeded = self._seed is not None
        begin = boot.start(
            hardware, base, accelerator, self._progress, foreign=bool(image), seeded=seeded
        )
        pinned = affinity.pinned(spec, affinity.host_cpus())
        clock = time.perf_counter()
        entry = journal.write(KIND, {"vms": str(journal.state_folder() / "vms")})
        child: subprocess.Popen[str] | None = None
        with linked(spec.overlay) as link:
            try:
                folder_of(entry).mkdir(parents=True)
                folder_of(entry).chmod(0o700)
                boot.make_disk(folder_of(entry), self._disk or base.disk, size_bytes, image)
                copied = time.perf_counter()
                child, groups = _start(
                    spec,
                    entry,
                    begin,
                    accelerator,
                    hardware=hardware,
                    pinned=pinned,
                    network=self._network if link is None else link.guest,
                    wires=self._wires,
                    second=base.disk if image else self._seed,
                )
                _wait_for_boot(folder_of(entry), child)
                booted = time.perf_counter()
                connection = _connect(folder_of(entry), child, link, answers=not seeded)
                ready = time.perf_counter()
                processors = monitor.processors(folder_of(entry), child.pid)
            except BaseException:
                give_back(entry, child)
                raise
        phases = Phases.between(clock, copied, booted, ready)
        account = Accounting(
            cgroups=groups, processes=(child.pid,), processors=processors, own_kernel=True
        )
        return GuestInstance(
            spec,
            phases=phases,
            accounting=account,
            entry=entry,
            child=child,
            connection=connection,
            emulated=accelerator != "kvm",
            link=link,
        )

    def _accelerator(self, base: userland.Image) -> command_line.Accelerator:
        if self._counted:
            return "counted"
        return "kvm" if kvm.verdict(base).works else "tcg"


class GuestInstance(GuestWithAgent):
    """A running guest under QEMU."""

    def __init__(
        self,
        spec: EnvironmentSpec,
        *,
        phases: Phases,
        accounting: Accounting,
        entry: journal.Entry,
        child: subprocess.Popen[str],
        connection: JsonSocket,
        emulated: bool,
        link: Link | None = None,
    ) -> None:
        """Store the parts of a running guest; `link`, to other hosts, is released with it."""
        called = f"the guest of environment `{spec.name}`"
        super().__init__(entry, child, connection, phases, called)
        self.spec = spec
        self.accounting = accounting
        self.emulated = emulated
        self._link = link

    def put(self, source: Path, destination: PurePosixPath) -> None:
        """Copy one host file into the guest, preserving its mode."""
        agent.put(self._agent, command_line.bulk(folder_of(self._alive())), source, destination)

    def get(self, source: PurePosixPath, destination: Path) -> None:
        """Copy one file of the guest to the host."""
        self._alive()
        agent.get(self._agent, source, destination)

    def pause(self) -> None:
        """Stop the guest's virtual CPUs."""
        self._monitor("stop")

    def resume(self) -> None:
        """Start the guest's virtual CPUs again."""
        self._monitor("cont")

    def plug(self, wire: int, *, connected: bool) -> None:
        """Disconnect or connect one of its wires, as by pulling the plug: the carrier changes."""
        self._monitor("set_link", {"name": f"wire{wire}", "up": connected})

    def _give_back(self, entry: journal.Entry) -> None:
        give_back(entry, self._child)
        if self._link is not None:
            self._link.release()

    def _monitor(self, command: str, arguments: Mapping[str, object] | None = None) -> None:
        monitor.ask(folder_of(self._alive()), command, arguments)


def give_back(entry: journal.Entry, child: subprocess.Popen[str] | None = None) -> None:
    """Remove a guest in any state, and its journal entry.

    It also cleans up after a dead owner. The disk is deleted, so no shutdown is needed. Errors:
    OSError if something is left; then the entry is left too.
    """
    if child is not None:
        if child.poll() is None:
            child.kill()
        process.end(child)
    name = name_of(entry)
    undo.kill(
        lambda arguments, variables: (
            variables.get(undo.MARK) == entry.id
            or (name in arguments and variables.get(process.OWNER_VARIABLE) == str(entry.owner_pid))
        )
    )
    if os.geteuid() == 0:
        cgroup.remove(name, cgroup.layout())
    undo.remove_tree(folder_of(entry))
    journal.erase(entry)


def _check_board(hardware: Hardware, accelerator: command_line.Accelerator) -> None:
    """Raise MissingError for a board on which an emulated guest does not always boot."""
    if accelerator != "kvm" and not hardware.board.emulated:
        raise MissingError(
            f"guests are emulated here, and on the board {hardware.machine} an emulated Linux finds"
            " no sure rate of its timer",
            remedy='machine = "q35"',
        )


def _start(
    spec: EnvironmentSpec,
    entry: journal.Entry,
    begin: boot.Start,
    accelerator: command_line.Accelerator,
    *,
    hardware: Hardware,
    pinned: Sequence[int],
    network: GuestNetwork | None,
    wires: Sequence[command_line.Wire],
    second: Path | None,
) -> tuple[subprocess.Popen[str], dict[str, Path]]:
    """Start QEMU, which is killed when we die.

    Errors: MissingError for a quota without root.
    """
    folder = folder_of(entry)
    archive = folder / "initramfs.img"
    archive.write_bytes(begin.archive)
    have = cgroup.layout()
    nice = os.nice(0) if cgroup.may_be_made(have) else None
    limits = cgroup.Limits(cpus=affinity.cpu_limit(spec), nice=nice)
    groups = {} if limits == cgroup.Limits() else cgroup.make(name_of(entry), limits, have)
    command = command_line.command(
        name=name_of(entry),
        folder=folder,
        kernel=begin.kernel,
        archive=archive,
        cpus=spec.cpus,
        memory_bytes=spec.memory_bytes,
        accelerator=accelerator,
        tap=(network.tap, network.hardware_address) if network is not None else None,
        wires=wires,
        hardware=hardware,
        second=second,
    )
    if network is not None:
        command = ["ip", "netns", "exec", network.namespace, *command]
    with (folder / "qemu.log").open("w", encoding="utf-8") as log:
        child = process.start(
            command,
            stderr=log.fileno(),
            environment={undo.MARK: entry.id},
            cpus=pinned,
            cgroups=tuple(groups.values()),
            controls=pages.controls(spec),
        )
    return child, groups


def _wait_for_boot(folder: Path, child: subprocess.Popen[str]) -> None:
    """Wait until the guest's first program has written to the serial line."""
    if not events.until(
        lambda: initramfs.has_booted(command_line.console(folder)),
        _BOOT_LIMIT_S,
        folder=folder,
        pid=child.pid,
    ):
        raise _did_not_boot(folder, child)


def _connect(
    folder: Path, child: subprocess.Popen[str], link: Link | None, *, answers: bool
) -> JsonSocket:
    """Connect to the agent, wait for its answer, and set up the link to other hosts, if any."""
    connection = JsonSocket(command_line.agent(folder))
    try:
        connection.connect(5.0)
        if answers:
            connection.synchronise(secrets.randbits(31), _BOOT_LIMIT_S)
    except AferirError:
        connection.close()
        raise _did_not_boot(folder, child) from None
    except BaseException:
        connection.close()
        raise
    if link is not None:
        link.set_up(connection)
    return connection


def _did_not_boot(folder: Path, child: subprocess.Popen[str]) -> ProgramError:
    said = (folder / "qemu.log", command_line.console(folder))
    return console.did_not_boot("QEMU", child, _BOOT_LIMIT_S, said)


VIRTUAL_MACHINE = Kind(
    name=KIND,
    spec=GuestSpec,
    make=lambda context: VirtualMachine(context.progress),
    clean={KIND: give_back, kvm.TRIAL: kvm.give_back},
    least_memory_bytes=2**27,
    has_image=True,
    spreads=True,
    features=FEATURES,
)
