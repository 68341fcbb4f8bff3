"""Nodes as QEMU guests on the cluster's bridge: see `environments.vm`.

Folders of the host are shared by virtiofs (qemu's docs/interop/virtiofsd), and commands are run by
ssh from the bridge's namespace.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from aferir.cluster import configuration, disks, netboot, network
from aferir.cluster.description import Description, Node, mac, number_of
from aferir.cluster.nodes import Place, boots_from_network, image_of, make_folders
from aferir.cluster.workshop import Workshop
from aferir.environments import agent
from aferir.environments.jsonsocket import JsonSocket
from aferir.environments.qemu import boot, command_line, kvm, monitor, vm
from aferir.environments.qemu import spec as guest_spec
from aferir.environments.qemu.hardware import Hardware
from aferir.errors import AferirError, ProgramError
from aferir.image import initramfs, kernels, userland
from aferir.image.progress import silent
from aferir.image.userland import Image, Metadata
from aferir.linux import events, journal, process, umask, undo, wait
from aferir.machine import packages
from aferir.model.finding import Finding

_VIRTIOFSD = ("/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd", "/usr/lib/virtiofsd")
_BOOT_LIMIT_S = 300.0
"""Seconds in which a guest must boot; several emulated guests on a busy host take long."""
_SHARES = {"home": "/home", "config": configuration.FOLDER}
_MODULES = ("failover", "net_failover", "virtio_net", "fuse", "virtiofs")
_DRIVERS = (
    *("crc32c_generic", "ext4", "virtio_pci", "virtio_console", "virtio_blk"),
    *_MODULES,
    *("e1000", "8139cp"),
)
"""Modules for any guest of a cluster under a kernel that is not the image's."""
_SETUP = f"""set -e
loaded=
while read -r module rest; do loaded="$loaded $module "; done < /proc/modules
for module in {" ".join(_MODULES)}; do
  for file in /{initramfs.NETWORK_FOLDER}/*-$module.ko; do
    case "$loaded" in *" $module "*) ;; *) if [ -e "$file" ]; then insmod "$file"; fi ;; esac
  done
done
echo "$1" > /proc/sys/kernel/hostname
echo "$1" > /etc/hostname
mkdir -p {" ".join(_SHARES.values())}
{"".join(f"mount -t virtiofs {tag} {folder}{chr(10)}" for tag, folder in _SHARES.items())}
ip -batch - << END
address add $2/{network.PREFIX} dev {network.INTERFACE}
link set {network.INTERFACE} mtu $3 up
END
exec {configuration.FOLDER}/init
"""
"""Script run in a guest once its agent answers; its arguments are name, address and MTU.

It uses few programs, as each takes 50 ms to start in an emulated guest."""


class GuestNodes:
    """Creates, finds and removes nodes that are guests; needs root for the bridge."""

    own_kernel = True
    kept_bytes = guest_spec.KEPT_BYTES

    def check(self) -> list[Finding]:
        """Findings on what guests need, and on virtiofsd."""
        found = vm.VirtualMachine().check()
        if _virtiofsd() is None:
            remedy = packages.install_command(["virtiofsd"])
            found.append(Finding(guest_spec.KIND, "missing", "virtiofsd is not installed", remedy))
        return found

    def announce(self, place: Place) -> journal.Entry:
        """Write a journal entry by which `aferir clean` can remove the guest."""
        details = {"vms": str(journal.state_folder() / "vms")}
        return journal.write(guest_spec.KIND, details, kept_by=place.folder / "cluster.json")

    def start(self, place: Place, node: Node, entry: journal.Entry) -> None:
        """Start QEMU in the background in the bridge's namespace, and connect its tap device."""
        folder = vm.folder_of(entry)
        if boots_from_network(place.description, node):
            umask.everybody_reads()
            folder.mkdir(parents=True, mode=0o700)
            command = _network_command(place, node, entry)
        else:
            self._furnish(place, node, entry)
            command = _command(place, node, entry)
        inside = ["nsenter", f"--net=/run/netns/{network.name_of(place.network)}"]
        process.run(
            [*inside, *command], environment={undo.MARK: entry.id}, cpus=node.cpus, timeout_s=60
        )
        network.plug(place.network, node)

    def _furnish(self, place: Place, node: Node, entry: journal.Entry) -> None:
        """Give a node its disk, and the folders of its host."""
        folder = vm.folder_of(entry)
        disk = make_folders(place, node, folder)
        if not command_line.disk(disk).exists():
            base = image_of(place, node) / "disk.img"
            process.run(command_line.overlay_command(base, command_line.disk(disk)), timeout_s=60)
        command_line.disk(folder).symlink_to(command_line.disk(disk))
        for share in _SHARES:
            _share(place.folder / share, folder / f"{share}.socket", entry)

    def wait(self, place: Place, node: Node, entry: journal.Entry) -> None:
        """Wait until the guest's agent answers, and set the guest up.

        A worker that boots from the network sets itself up, and says so on its serial line.
        """
        folder = vm.folder_of(entry)
        if boots_from_network(place.description, node):
            self._wait_for_ready(node, entry)
            return
        command = ["sh", "-c", _SETUP, "sh", node.name, node.address, str(place.mtu)]
        try:
            with _agent(folder) as connection:
                done = agent.run(connection, command, timeout_s=_BOOT_LIMIT_S, environment={})
        except AferirError as error:
            raise self._did_not_boot(node, entry, error.message) from None
        if done.exit_code != 0:
            raise ProgramError(f"{node.name} could not be set up: {process.explain_exit(done)}")

    def _wait_for_ready(self, node: Node, entry: journal.Entry) -> None:
        """Wait for a worker; from then on it ends, as others do, instead of booting again."""
        folder = vm.folder_of(entry)
        pid = self.process(entry)
        if pid is None or not events.until(
            lambda: netboot.is_ready(command_line.console(folder)),
            _BOOT_LIMIT_S,
            folder=folder,
            pid=pid,
        ):
            raise self._did_not_boot(node, entry, f"it did not within {_BOOT_LIMIT_S:g} s")
        monitor.ask(folder, "set-action", {"reboot": "shutdown"})

    def _did_not_boot(self, node: Node, entry: journal.Entry, why: str) -> ProgramError:
        how = why if self.process(entry) is not None else "QEMU ended"
        return ProgramError(
            f"{node.name} did not boot: {how}{_last_words(vm.folder_of(entry))}",
            remedy="give it more memory, or free memory and CPUs on this host",
        )

    def process(self, entry: journal.Entry) -> int | None:
        """ID of the node's QEMU process; None if it does not run."""
        name = vm.name_of(entry)
        try:
            pid = int((vm.folder_of(entry) / "pid").read_text(encoding="ascii"))
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        return pid if name.encode() in arguments and journal.start_time(pid) else None

    def pin(self, entry: journal.Entry, cpus: Sequence[int]) -> None:
        """Pin all threads of QEMU to `cpus`."""
        pid = self.process(entry)
        for task in Path(f"/proc/{pid}/task").iterdir() if pid else ():
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(task.name), cpus)

    def enter(
        self, place: Place, node: Node, command: Sequence[str], variables: Mapping[str, str]
    ) -> list[str]:
        """Command line on the host that runs a command inside, by ssh(1) with cluster keys."""
        config = place.folder / "config"
        words = ["env", *(f"{key}={value}" for key, value in variables.items()), *command]
        options = {
            "IdentityFile": str(config / "id_ed25519"),
            "UserKnownHostsFile": str(config / "known_hosts"),
            "GlobalKnownHostsFile": "/dev/null",
            "IdentitiesOnly": "yes",
            "BatchMode": "yes",
            "LogLevel": "ERROR",
            "ConnectTimeout": "60",
        }
        return [
            *("nsenter", f"--net=/run/netns/{network.name_of(place.network)}"),
            *("ssh", "-F", "none", *(["-t"] if sys.stdin.isatty() else [])),
            *(word for key, value in options.items() for word in ("-o", f"{key}={value}")),
            *(f"root@{node.address}", shlex.join(words)),
        ]

    def pause(self, entry: journal.Entry, *, paused: bool) -> None:
        """Stop or continue the virtual CPUs; before a stop, a guest with a disk syncs it."""
        folder = vm.folder_of(entry)
        if paused and command_line.disk(folder).exists():
            with _agent(folder) as connection:
                agent.run(connection, ["sync"], timeout_s=_BOOT_LIMIT_S, environment={})
        monitor.ask(folder, "stop" if paused else "cont")

    def save_disk(self, place: Place, node: Node, shop: Workshop, target: Path) -> int:
        """Save the guest's disk merged with its base image."""
        disk = command_line.disk(place.folder / "disks" / node.name)
        disks.from_qcow2(shop, disk, target)
        return disks.capacity(shop, target)

    def give_back(self, entry: journal.Entry) -> None:
        """Remove the node, as `aferir clean` does."""
        vm.give_back(entry)


def _virtiofsd() -> str | None:
    return next((path for path in _VIRTIOFSD if Path(path).exists()), None)


def _share(folder: Path, socket: Path, entry: journal.Entry) -> None:
    """Start virtiofsd, which shares a folder with a guest; it ends with the guest."""
    program = _virtiofsd() or _VIRTIOFSD[0]
    command = [program, f"--socket-path={socket}", "-o", f"source={folder}"]
    log = socket.with_suffix(".log")
    detached = 'log=$1; shift; setsid "$@" > "$log" 2>&1 < /dev/null &'
    process.run(
        ["sh", "-c", detached, "sh", str(log), *command],
        environment={undo.MARK: entry.id},
        timeout_s=30,
    )
    if not wait.until(socket.exists, wait.after(30), period_s=0.005):
        said = log.read_text(encoding="utf-8", errors="replace").splitlines()[-1:]
        raise ProgramError(f"virtiofsd did not start: {' '.join(said)}")


def _command(place: Place, node: Node, entry: journal.Entry) -> list[str]:
    description = place.description
    folder = vm.folder_of(entry)
    memory = -(-description.memory_bytes // 2**20)
    accelerator = _accelerator(place.image)
    kernel, archive = _kernel(place, folder, accelerator)
    base = command_line.command(
        name=vm.name_of(entry),
        folder=folder,
        kernel=kernel,
        archive=archive,
        cpus=description.cpus,
        memory_bytes=description.memory_bytes,
        accelerator=accelerator,
        tap=(node.name, mac(number_of(node))),
        hardware=_hardware(description),
    )
    shares = [
        word
        for tag in _SHARES
        for word in (
            *("-chardev", f"socket,id={tag},path={command_line.escaped(folder / f'{tag}.socket')}"),
            *("-device", f"vhost-user-fs-pci,chardev={tag},tag={tag}"),
        )
    ]
    return [
        *base,
        *("-object", f"memory-backend-memfd,id=memory,size={memory}M,share=on"),
        *("-machine", "memory-backend=memory"),
        *shares,
        *_in_background(folder),
    ]


def _network_command(place: Place, node: Node, entry: journal.Entry) -> list[str]:
    description = place.description
    folder = vm.folder_of(entry)
    base = command_line.network_command(
        name=vm.name_of(entry),
        folder=folder,
        cpus=description.cpus,
        memory_bytes=description.memory_bytes,
        accelerator=_accelerator(place.image),
        tap=(node.name, mac(number_of(node))),
        hardware=_hardware(description),
    )
    return [*base, *_in_background(folder)]


def _in_background(folder: Path) -> list[str]:
    return ["-daemonize", "-pidfile", str(folder / "pid"), "-D", str(folder / "qemu.log")]


def _hardware(description: Description) -> Hardware:
    return Hardware(network_device=description.network_device or "none")


def _kernel(place: Place, folder: Path, accelerator: command_line.Accelerator) -> tuple[Path, Path]:
    """Kernel and initramfs of a node: the image's own, or another kernel with its drivers.

    For another kernel, an initramfs is written to the node's folder; and what workers boot from the
    network, to the folder from which the front end serves it. Errors: MissingError.
    """
    own = place.image / "initramfs.img"
    whole = _hardware(place.description).wants_whole_kernel()
    serves = place.description.boot == "pxe"
    if not (whole or serves):
        return boot.form(place.image / "vmlinuz", accelerator), own
    drivers = (*_DRIVERS, *(netboot.SERVER if serves else ()))
    meta = kernels.WHOLE if whole else kernels.CLOUD
    found = kernels.fetched(silent, (*_DRIVERS, *netboot.MODULES), meta)
    if serves:
        netboot.write(place.folder / "config", place.description, found, own.read_bytes())
    archive = folder / own.name
    archive.write_bytes(kernels.archive(found, own.read_bytes(), drivers))
    return boot.form(found.program, accelerator), archive


def _accelerator(folder: Path) -> command_line.Accelerator:
    """Accelerator that works on this host; only a probe with the host's own image is cached."""
    known = userland.find(userland.host_recipe())
    if known is None:
        recipe = userland.host_recipe()
        nameless = Metadata(hash=folder.name, recipe=recipe, kernel_release="", packages={})
        known = Image(folder, nameless)
    return "kvm" if kvm.verdict(known).works else "tcg"


@contextlib.contextmanager
def _agent(folder: Path) -> Iterator[JsonSocket]:
    """A connection to the guest's agent, once it answers."""
    with JsonSocket(command_line.agent(folder)) as connection:
        connection.connect(10.0)
        connection.synchronise(secrets.randbits(31), _BOOT_LIMIT_S)
        yield connection


def _last_words(folder: Path) -> str:
    lines: list[str] = []
    for path in (folder / "qemu.log", command_line.console(folder)):
        with contextlib.suppress(OSError):
            lines += path.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
    return f": {' / '.join(lines)}" if lines else ""
