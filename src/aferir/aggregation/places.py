"""Where test networks are made: namespaces of this kernel, or of a guest's, which has bonding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Protocol

from aferir import journal, process
from aferir.aggregation import ranks
from aferir.aggregation.traffic import PROGRAM, Outcome, Task, read, script
from aferir.environments import initramfs, namespace, undo
from aferir.environments.vm import GuestInstance, VirtualMachine
from aferir.errors import MissingError, ProgramError, TimeoutExpired
from aferir.machine import packages, privileges
from aferir.model.network import Bonding, Kind, Method
from aferir.model.plan import EnvironmentSpec
from aferir.process import Completed

_GUEST_MEMORY = 512 * 2**20
_GUEST_FOLDER = PurePosixPath("/run")
_GUEST_PROGRAM = PurePosixPath("/opt/aferir") / PROGRAM
_MAKING_S = 60.0
_SLOWNESS = 100.0
"""Host seconds that an emulated second may take."""
_NEEDED = ("ip", "tc", "ethtool")


class Place(Protocol):
    """Runs one measurement after another; nothing of one is left for the next."""

    kind: Kind

    def measure(self, task: Task) -> Outcome:
        """Make the network, send, and remove it again; errors as in `traffic.read`."""
        ...

    def shell(self, text: str, *, timeout_s: float) -> str:
        """What a shell script prints there. Errors: as of `aferir.process.run`."""
        ...


def usual_kind(method: Method) -> Kind:
    """Bonding is a module that few kernels of virtual machines have; a guest's has it."""
    if isinstance(method, Bonding) and not Path("/proc/net/bonding").exists():
        return "guest"
    return "namespaces"


@contextmanager
def place(kind: Kind, program: Path) -> Iterator[Place]:
    """A place for test networks, given back whatever happens; `program` is network-stream.

    Errors: MissingError without root, or without a program that is needed.
    """
    with here(program) if kind == "namespaces" else guest(program) as found:
        yield found


@contextmanager
def here(program: Path) -> Iterator[Here]:
    """Namespaces of this kernel; journalled before the first is made."""
    if not privileges.is_root():
        raise MissingError(
            "test networks of namespaces need root", remedy=privileges.as_root_command()
        )
    if absent := packages.missing(_NEEDED):
        said = f"test networks need {', '.join(absent)}"
        raise MissingError(said, remedy=packages.install_command(absent))
    entry = journal.write(namespace.KIND, {})
    try:
        namespace.folder_of(entry).mkdir(parents=True)
        yield Here(entry, program)
    finally:
        namespace.give_back(entry)


@contextmanager
def guest(program: Path) -> Iterator[Place]:
    """Namespaces of an emulated guest, whose time is that of its instructions."""
    spec = EnvironmentSpec(name="network", kind="vm", cpus=1, memory_bytes=_GUEST_MEMORY)
    instance = VirtualMachine(counted=True).allocate(spec)
    try:
        instance.put(program, _GUEST_PROGRAM)
        load = f"for m in /{initramfs.NETWORK_FOLDER}/*.ko; do insmod $m; done"
        instance.run(["sh", "-c", f"set -e; {load}"], timeout_s=_MAKING_S)
        yield _Guest(instance)
    finally:
        instance.release()


class Here:
    """Namespaces of this kernel."""

    kind: Kind = "namespaces"

    def __init__(self, entry: journal.Entry, program: Path) -> None:
        self._entry = entry
        self._program = PurePosixPath(program)
        self._numbers = count(1)

    def measure(self, task: Task) -> Outcome:
        """As of a place."""
        prefix = namespace.name_of(self._entry, f"{next(self._numbers)}-")
        folder = PurePosixPath(namespace.folder_of(self._entry))
        text = script(task, prefix, self._program, folder)
        return read(self.shell(text, timeout_s=_MAKING_S + 2 * task.traffic.seconds + 60), task)

    def run(self, job: ranks.Job, *, timeout_s: float) -> ranks.Ran:
        """Run an MPI program over a network of its own; errors as in `ranks.read`."""
        prefix = namespace.name_of(self._entry, f"{next(self._numbers)}-")
        folder = PurePosixPath(namespace.folder_of(self._entry))
        text = ranks.script(job, prefix, folder, prefix.rstrip("-"))
        return ranks.read(self.shell(text, timeout_s=timeout_s), job)

    def shell(self, text: str, *, timeout_s: float) -> str:
        """As of a place."""
        # In its environment, so that whatever it starts is ended with the network.
        variables = {undo.MARK: self._entry.id, "PATH": packages.search_path()}
        return _output(partial(process.run, environment=variables), text, timeout_s)


class _Guest:
    kind: Kind = "guest"

    def __init__(self, instance: GuestInstance) -> None:
        self._instance = instance
        self._numbers = count(1)

    def measure(self, task: Task) -> Outcome:
        text = script(task, f"n{next(self._numbers)}-", _GUEST_PROGRAM, _GUEST_FOLDER)
        return read(
            self.shell(text, timeout_s=_MAKING_S + _SLOWNESS * (task.traffic.seconds + 2)), task
        )

    def shell(self, text: str, *, timeout_s: float) -> str:
        self._instance.resume()
        try:
            return _output(self._instance.run, text, timeout_s)
        finally:
            # An idle guest of this kind would run through its time as fast as it can.
            self._instance.pause()


def _output(run: Callable[..., Completed], text: str, timeout_s: float) -> str:
    """What a script printed; an error names its last words, not all of its lines."""
    try:
        done = run(["sh", "-c", text], timeout_s=timeout_s, check=False)
    except TimeoutExpired:
        raise TimeoutExpired(
            f"a test network was ended after {timeout_s:g} s",
            remedy="choose fewer hosts, slower links or fewer seconds",
        ) from None
    if done.exit_code != 0:
        raise ProgramError(f"a test network {process.explain_exit(done)}")
    return done.stdout
