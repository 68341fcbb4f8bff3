"""A guest under User-Mode Linux: boot, run commands, copy files, pause, and remove it completely.

It has one processor. Its programs run at the host's speed while they compute, and slowly if they
make system calls. It is no security boundary: its root has the rights of the user who started it.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import shlex
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from aferir.environments import agent, console
from aferir.environments.base import Phases
from aferir.environments.guest import GuestWithAgent
from aferir.environments.jsonsocket import JsonSocket
from aferir.environments.uml import control, machine
from aferir.environments.uml.machine import HOST_FILES, Share
from aferir.errors import AferirError, ProgramError
from aferir.image import initramfs
from aferir.image.userland import Image
from aferir.linux import affinity, events, journal, process, umask, undo
from aferir.linux.process import Completed
from aferir.machine import privileges

KIND = "uml"
"""Kind of the journal entry of a guest."""
_BOOT_LIMIT_S = 120.0
_COPY_LIMIT_S = 60.0
_LINE_BYTES = 2048
"""Longest command in bytes that is sent to its agent directly. A message above the 4 KiB of the
guest's terminal buffer (N_TTY_BUF_SIZE) blocks the line permanently.
"""
_IN = 'mkdir -p -- "${2%/*}/" && cp -p -- "$1" "$2"'
_OUT = '[ -f "$2" ] && cp -- "$2" "$1"'


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Requested properties of a guest: memory, modules, folders, network and disk."""

    memory_bytes: int = 2**28
    modules: Sequence[str] = ()
    """Modules to load before the guest's first program runs, together with their dependencies."""
    shares: Sequence[Share] = ()
    """Folders of the host that are visible inside."""
    wires: Sequence[int] = ()
    """File descriptors of sockets (AF_UNIX, SOCK_DGRAM) for the frames of vec0, vec1, ..."""
    disk: Path | None = None
    """Disk that replaces the image's own."""


class Placing(msgspec.Struct, frozen=True, kw_only=True):
    """Placement of the guest's processes on the host; as in `aferir.linux.process.start`."""

    cpus: Sequence[int] = ()
    """CPUs that it may use; none: one that is drawn. The guest's kernel and its programs run by
    turns, and waking each other on two CPUs takes long: importing numpy in a guest took 1.4 s and
    1.0 s of processor time, and 0.6 s of both on one CPU.
    """
    cgroups: Sequence[Path] = ()
    controls: Sequence[tuple[int, int]] = ()


def folder_of(entry: journal.Entry) -> Path:
    """Folder of a guest's disk, files and control socket."""
    return Path(entry.details["vms"]) / f"aferir-{entry.id}"


def boot(base: Image, wanted: Wanted, placing: Placing | None = None) -> Guest:
    """Boot a guest from the userland `base`; call it from the main thread, see `process.start`.

    Errors: MissingError without User-Mode Linux or one of the modules, ProgramError if the guest
    does not boot.
    """
    clock = time.perf_counter()
    kernel = machine.find()
    loaded = machine.modules(kernel, wanted.modules)
    entry = journal.write(KIND, {"vms": str(journal.state_folder() / "vms")})
    ours, its = socket.socketpair()
    connection = JsonSocket(_control(entry), ours)
    child: subprocess.Popen[str] | None = None
    try:
        _make_files(entry, base, wanted, loaded)
        copied = time.perf_counter()
        with contextlib.closing(its):
            child = _start(
                kernel,
                entry,
                base,
                wanted,
                placing=placing or Placing(),
                agent_handle=its.fileno(),
            )
        _wait_for(initramfs.BOOTED, entry, child)
        booted = time.perf_counter()
        _synchronise(connection, entry, child)
        ready = time.perf_counter()
    except BaseException:
        its.close()
        connection.close()
        give_back(entry, child)
        raise
    return Guest(entry, child, connection, Phases.between(clock, copied, booted, ready))


def alone() -> tuple[str, ...]:
    """Command prefix by which a guest's processes all die when aferir ends, even by SIGKILL.

    A guest's programs are host processes that the guest's kernel traces; they would continue to
    compute after that kernel is killed. The prefix is empty if this user may not make a namespace;
    then `aferir clean` ends them.
    """
    if privileges.is_root():
        return process.ALONE
    if privileges.user_namespaces():
        unshare, *options = process.ALONE
        return (unshare, "--user", "--map-root-user", *options)
    return ()


class Guest(GuestWithAgent):
    """A running guest; `release` may be called twice and always cleans up."""

    def __init__(
        self,
        entry: journal.Entry,
        child: subprocess.Popen[str],
        connection: JsonSocket,
        phases: Phases,
    ) -> None:
        super().__init__(entry, child, connection, phases)
        self.pid = _kernel(child.pid)
        """Pid of the guest's kernel; the guest's programs are children of that process."""

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a program in the guest; its duration is measured on the host, to within 20 ms.

        A long command with its variables is passed in a file.
        """
        variables = dict(environment or {})
        if len(json.dumps([*command, variables])) <= _LINE_BYTES:
            return super().run(command, timeout_s=timeout_s, environment=variables, check=check)
        with _passed(self._alive()) as file:
            file.write_text(_script(command, variables), encoding="utf-8")
            script = str(HOST_FILES / file.name)
            done = super().run(["sh", script], timeout_s=timeout_s, check=False)
        if done.exit_code in (126, 127) and done.stderr.startswith(f"{script}: "):
            raise agent.not_run(command[0], done.stderr.removeprefix(f"{script}: "))
        done = msgspec.structs.replace(done, command=tuple(command))
        if check and done.exit_code != 0:
            raise ProgramError(f"`{' '.join(command)}` {process.explain_exit(done)}")
        return done

    def put(self, source: Path, destination: PurePosixPath) -> None:
        """Copy one host file into the guest, preserving its mode and creating missing folders."""
        with _passed(self._alive()) as file:
            shutil.copy(source, file)
            self._copy(_IN, file, destination)

    def get(self, source: PurePosixPath, destination: Path) -> None:
        """Copy one file of the guest to the host. Errors: ProgramError if it does not exist."""
        with _passed(self._alive()) as file:
            self._copy(_OUT, file, source)
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(file, destination)

    def pause(self) -> None:
        """Stop the guest's kernel, and thereby its programs."""
        control.ask(_control(self._alive()), "stop")

    def resume(self) -> None:
        """Let the guest's kernel continue."""
        control.ask(_control(self._alive()), "go")

    def _give_back(self, entry: journal.Entry) -> None:
        give_back(entry, self._child)

    def _copy(self, script: str, file: Path, other: PurePosixPath) -> None:
        words = [str(HOST_FILES / file.name), str(other)]
        self.run(["sh", "-c", script, "sh", *words], timeout_s=_COPY_LIMIT_S)


def give_back(entry: journal.Entry, child: subprocess.Popen[str] | None = None) -> None:
    """Remove a guest in any state, and its journal entry.

    It also cleans up after a dead owner. Errors: OSError if something is left; then the entry is
    left too.
    """
    if child is not None and child.poll() is None:
        child.kill()
    undo.kill_marked(entry.id)  # its programs are processes of their own
    if child is not None:
        process.end(child)
    undo.remove_tree(folder_of(entry))
    journal.erase(entry)


def _script(command: Sequence[str], variables: Mapping[str, str]) -> str:
    """Script for a command, with all its variables, even if sh itself would not pass them on."""
    lines = [f"export {n}={shlex.quote(v)}" for n, v in variables.items() if n.isidentifier()]
    odd = [f"{n}={v}" for n, v in variables.items() if not n.isidentifier()]
    return "\n".join([*lines, f"exec {shlex.join([*(['env', *odd] if odd else []), *command])}\n"])


def _make_files(
    entry: journal.Entry, base: Image, wanted: Wanted, loaded: Mapping[str, bytes]
) -> None:
    folder = folder_of(entry)
    umask.everybody_reads()
    _exchange(entry).mkdir(parents=True)
    folder.chmod(0o700)
    shares = [Share(_exchange(entry), HOST_FILES, writable=True), *wanted.shares]
    busybox = initramfs.member(base.initramfs.read_bytes(), "bin/busybox")
    (folder / "initramfs.img").write_bytes(
        machine.archive(loaded, busybox, shares, _jail(entry, wanted))
    )


def _exchange(entry: journal.Entry) -> Path:
    """Folder of the host through which files are copied in and out."""
    return folder_of(entry) / "files"


def _jail(entry: journal.Entry, wanted: Wanted) -> Path:
    """Folder of the host outside of which the guest cannot mount anything."""
    return Path("/") if wanted.shares else _exchange(entry)


def _control(entry: journal.Entry) -> Path:
    return folder_of(entry) / "control" / "mconsole"


def _console(entry: journal.Entry) -> Path:
    return folder_of(entry) / "console.log"


@contextlib.contextmanager
def _passed(entry: journal.Entry) -> Iterator[Path]:
    """Path for a file in the shared folder, with a new name, since the guest caches names."""
    file = _exchange(entry) / uuid.uuid4().hex
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)


def _start(
    kernel: machine.Kernel,
    entry: journal.Entry,
    base: Image,
    wanted: Wanted,
    *,
    placing: Placing,
    agent_handle: int,
) -> subprocess.Popen[str]:
    command = machine.command(
        kernel,
        folder=folder_of(entry),
        disk=wanted.disk or base.disk,
        memory_bytes=wanted.memory_bytes,
        agent=agent_handle,
        jail=_jail(entry, wanted),
        wires=wanted.wires,
    )
    with _console(entry).open("w", encoding="utf-8") as said:
        return process.start(
            [*alone(), *command],
            stdout=said.fileno(),
            stderr=said.fileno(),
            environment={undo.MARK: entry.id},
            cpus=placing.cpus or (secrets.choice(affinity.host_cpus()),),
            cgroups=placing.cgroups,
            controls=placing.controls,
            handles=[agent_handle, *wanted.wires],
        )


def _kernel(pid: int) -> int:
    """Pid of the guest's kernel: the child of the prefix that `alone` returns, or `pid` itself."""
    below = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return int(below[0]) if alone() and below else pid


def _wait_for(word: str, entry: journal.Entry, child: subprocess.Popen[str]) -> None:
    """Wait until the guest has written that word to its console."""

    def said() -> bool:
        return word.encode() in _console(entry).read_bytes()

    if not events.until(said, _BOOT_LIMIT_S, folder=folder_of(entry), pid=child.pid):
        raise _did_not_boot(entry, child)


def _synchronise(
    connection: JsonSocket, entry: journal.Entry, child: subprocess.Popen[str]
) -> None:
    """Wait until the guest's agent answers."""
    _wait_for(machine.LISTENING, entry, child)
    try:
        connection.synchronise(secrets.randbits(31), _BOOT_LIMIT_S)
    except AferirError:
        raise _did_not_boot(entry, child) from None


def _did_not_boot(entry: journal.Entry, child: subprocess.Popen[str]) -> ProgramError:
    return console.did_not_boot("its kernel", child, _BOOT_LIMIT_S, [_console(entry)])
