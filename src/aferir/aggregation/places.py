"""Where test networks are made: namespaces of this kernel, or guests, whose kernel has bonding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Protocol

from aferir.aggregation import ranks
from aferir.aggregation.guests import guest, guests
from aferir.aggregation.shells import MAKING_S, output
from aferir.aggregation.traffic import Outcome, Task, read, script
from aferir.errors import MissingError
from aferir.linux import journal, namespace, process, undo
from aferir.machine import packages, privileges
from aferir.model.network import Bonding, Kind, Method

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
    makers: dict[Kind, Callable[[Path], AbstractContextManager[Place]]] = {
        "namespaces": here,
        "guest": guest,
        "guests": guests,
    }
    with makers[kind](program) as found:
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


class Here:
    """Namespaces of this kernel."""

    kind: Kind = "namespaces"

    def __init__(self, entry: journal.Entry, program: Path) -> None:
        self._entry = entry
        self._program = PurePosixPath(program)
        self._numbers = count(1)

    def measure(self, task: Task) -> Outcome:
        """Measure a task: see `Place`."""
        prefix = namespace.name_of(self._entry, f"{next(self._numbers)}-")
        folder = PurePosixPath(namespace.folder_of(self._entry))
        text = script(task, prefix, self._program, folder)
        return read(self.shell(text, timeout_s=MAKING_S + 2 * task.traffic.seconds + 60), task)

    def run(self, job: ranks.Job, *, timeout_s: float) -> ranks.Ran:
        """Run an MPI program over a network of its own; errors as in `ranks.read`."""
        prefix = namespace.name_of(self._entry, f"{next(self._numbers)}-")
        folder = PurePosixPath(namespace.folder_of(self._entry))
        text = ranks.script(job, prefix, folder, prefix.rstrip("-"))
        return ranks.read(self.shell(text, timeout_s=timeout_s), job)

    def shell(self, text: str, *, timeout_s: float) -> str:
        """Run lines of a shell: see `Place`."""
        # In its environment, so that whatever it starts is ended with the network.
        variables = {undo.MARK: self._entry.id, "PATH": packages.search_path()}
        return output(partial(process.run, environment=variables), text, timeout_s)
