"""Places of test networks: namespaces of this kernel, or guests, whose kernel has bonding."""

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
from aferir.machine import bonding, packages, privileges
from aferir.model.network import Bonding, Kind, Method

_NEEDED = ("ip", "tc", "ethtool")


class Place(Protocol):
    """A place where measurements are carried out one after another; each leaves nothing behind."""

    kind: Kind

    def measure(self, task: Task) -> Outcome:
        """Create the network, send, and remove it again. Errors: those of `traffic.read`."""
        ...

    def shell(self, text: str, *, timeout_s: float) -> str:
        """Output of a shell script. Errors: those of `aferir.process.run`."""
        ...


def usual_kind(method: Method) -> Kind:
    """Default place: namespaces, or a guest if bonding is needed and this kernel has none."""
    if isinstance(method, Bonding) and not bonding.is_there():
        return "guest"
    return "namespaces"


@contextmanager
def place(kind: Kind, program: Path) -> Iterator[Place]:
    """A place for test networks, removed afterwards in any case; `program` is network-stream.

    Errors: MissingError without root, or if a program is missing.
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
    """A place in namespaces of this kernel; journalled before the first is created."""
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
    """A place in namespaces of this kernel."""

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
        """Run an MPI program over a network of its own. Errors: those of `ranks.read`."""
        prefix = namespace.name_of(self._entry, f"{next(self._numbers)}-")
        folder = PurePosixPath(namespace.folder_of(self._entry))
        text = ranks.script(job, prefix, folder, prefix.rstrip("-"))
        return ranks.read(self.shell(text, timeout_s=timeout_s), job)

    def shell(self, text: str, *, timeout_s: float) -> str:
        """Run shell commands: see `Place`."""
        # Children inherit the mark, so that they are ended with the network.
        variables = {undo.MARK: self._entry.id, "PATH": packages.search_path()}
        return output(partial(process.run, environment=variables), text, timeout_s)
