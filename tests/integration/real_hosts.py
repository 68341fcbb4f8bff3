"""Hosts with an address, a root file system and an OpenSSH server of their own, on this machine.

Each has namespaces of its own for processes, mounts, names and network; its root is this machine's
with a layer of memory above it, so that what it changes is its own and goes with it. One may be a
guest of User-Mode Linux, which has a kernel of its own.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath

import msgspec
import pytest

from aferir.environments.uml import guest
from aferir.environments.uml.machine import Share
from aferir.hosts import reaching
from aferir.hosts.environment import Host
from aferir.linux import journal, namespace, process
from aferir.model.host import HostSpec
from tests.integration.support import built, own_state
from tests.waiting import eventually

_NEEDED = ("/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/ssh-keygen", "/usr/bin/nsenter")
_ETH_P_ALL = 3
_CLONE_NEWNET = 0x40000000
_START = r"""
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 layer {folder}/layer
mkdir {folder}/layer/upper {folder}/layer/work
mount -t overlay root -o lowerdir=/,upperdir={folder}/layer/upper,workdir={folder}/layer/work \
  {folder}/root
cd {folder}/root
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /sys/fs/cgroup sys/fs/cgroup
mount --rbind /dev dev
mount -t tmpfs run run
mount -t tmpfs -o mode=1777 tmp tmp
mkdir -p run/sshd run/old var/lib/aferir var/lib/containers root/.ssh
rm -f root/.bashrc root/.profile root/.bash_profile root/.ssh/*
mkdir -p var/cache/aferir/agents
mount -t tmpfs -o mode=700 agents var/cache/aferir/agents
mount --bind {folder}/state var/lib/aferir
mount --bind {folder}/containers var/lib/containers
cp {folder}/authorized_keys root/.ssh/authorized_keys
cp {folder}/sshd_config {folder}/host_key etc/ssh/
hostname {name}
cat proc/sys/kernel/random/uuid > run/boot_id
mount --bind run/boot_id proc/sys/kernel/random/boot_id
pivot_root . run/old
umount -l run/old
{more}
exec /usr/sbin/sshd -D -e -f /etc/ssh/sshd_config
"""
_SSHD = """
HostKey {key}
PidFile none
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
StrictModes no
LogLevel ERROR
SetEnv OMPI_MCA_mpi_yield_when_idle=1
{more}
"""
"""The hosts share the processors of one machine, beside other tests: a rank that waits for one of
another host gives way to it."""
_GUEST = r"""
set -e
ip link set vec0 up
ip address add {address}/24 dev vec0
r=/run/root
mkdir -p $r && mount -t tmpfs -o mode=755 root $r
mkdir -p $r/dev $r/proc $r/sys $r/run/sshd $r/tmp $r/root/.ssh $r/var/tmp $r/var/lib $r/var/empty
for one in usr opt; do mkdir -p $r/$one; mount --bind /host/$one $r/$one; done
for one in bin sbin lib lib32 lib64 libx32; do
  if [ -L /host/$one ]; then cp -P /host/$one $r/$one; fi; done
cp -r /host/etc $r/etc
mount --rbind /dev $r/dev
mkdir -p $r/dev/pts && mount -t devpts devpts $r/dev/pts
mount -t proc proc $r/proc
mount -t sysfs sys $r/sys
cp /host{folder}/authorized_keys $r/root/.ssh/authorized_keys
cp /host{folder}/sshd_config /host{folder}/host_key $r/etc/ssh/
chmod 600 $r/etc/ssh/host_key
hostname {name}
exec chroot $r /usr/sbin/sshd -f /etc/ssh/sshd_config
"""


class Machine(msgspec.Struct):
    """One host, with its network and its processes."""

    name: str
    place: namespace.Host
    folder: Path
    more: str = ""
    """Shell commands that the host runs before it starts its sshd."""
    child: subprocess.Popen[str] | None = None

    def boot(self) -> None:
        """Switch it on, and wait until its sshd answers."""
        script = self.folder / "start"
        text = _START.format(folder=self.folder, name=self.name, more=self.more)
        script.write_text(text, encoding="utf-8")
        with (self.folder / "console").open("w", encoding="utf-8") as console:
            self.child = process.start(
                [
                    *("nsenter", f"--net={namespace.FOLDER / self.place.name}"),
                    *("unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child"),
                    *("sh", str(script)),
                ],
                stdout=console.fileno(),
                stderr=console.fileno(),
            )

    def off(self) -> None:
        """Cut its power: all its processes end at once."""
        if self.child is not None:
            running = processes_of(self)
            self.child.kill()
            self.child.wait()
            self.child = None
            # Its sshd holds the port until then, and the next one would end at once.
            eventually(lambda: all(journal.start_time(pid) is None for pid in running))

    def said(self) -> str:
        """Content of its console."""
        return (self.folder / "console").read_text(encoding="utf-8")


class Lab(msgspec.Struct):
    """Hosts on one switch, and what is needed to reach them from `client`."""

    folder: Path
    client: str
    """A namespace of the network on the same switch."""
    bridge: str
    machines: dict[str, Machine]

    @property
    def config(self) -> Path:
        """Path of ssh's configuration."""
        return self.folder / "ssh_config"

    def spec(self, name: str) -> HostSpec:
        """A host as an experiment names it."""
        return HostSpec(name=name, reach=("ssh", "-F", str(self.config), name))

    def reach(self, name: str) -> str:
        """Value of `reach` in an experiment file."""
        return shlex.join(self.spec(name).reach)

    def hosts(self, *names: str) -> list[Host]:
        """Hosts without a connection yet."""
        made = reaching.connect([self.spec(name) for name in names])
        return [one for one in made if isinstance(one, Host)]

    def ssh(self, name: str, command: str) -> str:
        """Run something there by ssh alone."""
        done = process.run(["ssh", "-F", str(self.config), name, command])
        return done.stdout

    def cable(self, name: str, state: str) -> None:
        """Disconnect its cable (`down`), or connect it again (`up`)."""
        port = f"port{list(self.machines).index(name)}"
        process.run(["ip", "-n", self.bridge, "link", "set", port, state])


def _key(path: Path) -> str:
    process.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", str(path)])
    return path.with_suffix(".pub").read_text(encoding="utf-8")


def _configure(lab: Lab) -> None:
    allowed = _key(lab.folder / "key")
    known = []
    text = [f"Host *\n  IdentityFile {lab.folder / 'key'}\n  IdentitiesOnly yes\n  User root"]
    text.append(f"  UserKnownHostsFile {lab.folder / 'known_hosts'}\n  GlobalKnownHostsFile none")
    text.append("  StrictHostKeyChecking yes\n  LogLevel ERROR")
    text.append(f"  ControlMaster auto\n  ControlPath {lab.folder}/m-%C")
    for machine in lab.machines.values():
        for one in ("layer", "root", "state", "containers"):
            (machine.folder / one).mkdir(parents=True)
        known.append(f"{machine.place.address} {_key(machine.folder / 'host_key')}")
        (machine.folder / "authorized_keys").write_text(allowed, encoding="utf-8")
        configured(machine)
        text.append(f"Host {machine.name}\n  HostName {machine.place.address}")
    (lab.folder / "known_hosts").write_text("".join(known), encoding="utf-8")
    lab.config.write_text("\n".join(text) + "\n", encoding="utf-8")


def configured(machine: Machine, more: str = "") -> None:
    """Write the configuration of its sshd, with more lines at its end."""
    text = _SSHD.format(key="/etc/ssh/host_key", more=more)
    (machine.folder / "sshd_config").write_text(text, encoding="utf-8")


@contextmanager
def inside(name: str) -> Iterator[None]:
    """This thread, and what it starts, on that namespace's network."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/thread-self/ns/net").open("rb") as before:
        namespace.enter(name)
        try:
            yield
        finally:
            assert libc.setns(before.fileno(), _CLONE_NEWNET) == 0


@contextmanager
def lab(folder: Path, names: Sequence[str], more: Mapping[str, str] | None = None) -> Iterator[Lab]:
    """Hosts of those names, still to be booted; skips without root or sshd."""
    if os.geteuid() != 0:
        pytest.skip("hosts of their own need root")
    for path in _NEEDED:
        if not Path(path).exists():
            pytest.skip(f"{path} is missing: scripts/setup dev")
    with namespace.star(len(names) + 1) as star:
        machines = {
            name: Machine(name, place, folder / name, (more or {}).get(name, ""))
            for name, place in zip(names, star.hosts, strict=False)
        }
        made = Lab(folder, star.hosts[-1].name, star.bridge, machines)
        for place in star.hosts:  # a guest gets frames as they are on the wire
            process.run(
                ["ip", "netns", "exec", place.name, "ethtool", "-K", star.interface]
                + [word for one in ("tx", "tso", "gso", "gro") for word in (one, "off")],
                check=False,
            )
        _configure(made)
        try:
            with inside(made.client):
                yield made
        finally:
            for machine in machines.values():
                machine.off()


def wait_for(lab: Lab, *names: str) -> None:
    """Wait until the hosts' sshd answers; fail with the console of one that has ended instead."""
    for machine in (lab.machines[name] for name in names):
        eventually(partial(_is_up_or_ended, machine))
        assert machine.child is None or machine.child.poll() is None, machine.said()


@contextmanager
def farm(folders: pytest.TempPathFactory, *names: str) -> Iterator[Lab]:
    """Hosts that answer, and a state folder of our own while they exist."""
    with pytest.MonkeyPatch.context() as patch:
        own_state(folders, patch)
        with lab(folders.mktemp("farm"), names) as made:
            for machine in made.machines.values():
                machine.boot()
            wait_for(made, *names)
            yield made


def _is_up_or_ended(machine: Machine) -> bool:
    ended = machine.child is not None and machine.child.poll() is not None
    return ended or _answers(machine.place.address)


def _answers(address: str) -> bool:
    try:
        with socket.create_connection((address, 22), timeout=5) as one:
            return one.recv(4) == b"SSH-"
    except OSError:
        return False


@contextmanager
def own_kernel(lab: Lab, name: str) -> Iterator[guest.Guest]:
    """A host that is a guest; its interface is the namespace's own."""
    machine = lab.machines[name]
    with inside(machine.place.name):
        wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
        wire.bind(("eth0", _ETH_P_ALL))
        process.run(["ip", "address", "flush", "dev", "eth0"])
        process.run(["ip", "link", "set", "eth0", "promisc", "on", "arp", "off"])
    with wire:
        wanted = guest.Wanted(
            memory_bytes=2**30,
            shares=(Share(Path("/"), PurePosixPath("/host")),),
            wires=(wire.fileno(),),
        )
        made = guest.boot(built(), wanted)
        try:
            text = _GUEST.format(folder=machine.folder, name=name, address=machine.place.address)
            made.run(["sh", "-c", text])
            yield made
        finally:
            made.release()


def processes_of(machine: Machine) -> list[int]:
    """Process IDs, as seen here, of all but the first two processes in its PID namespace."""
    assert machine.child is not None
    found, waiting = [], [machine.child.pid]
    while waiting:
        pid = waiting.pop()
        try:
            below = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        except OSError:
            continue
        found += [int(one) for one in below]
        waiting += [int(one) for one in below]
    return found


def left(machine: Machine) -> list[str]:
    """Entries in the host's journal."""
    folder = machine.folder / "state" / "journal"
    return [path.name for path in folder.glob("*.json")]


def kill(pid: int) -> None:
    """Kill a process at once; ignore it if it has ended."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
