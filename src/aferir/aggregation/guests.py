"""Test networks in guests: namespaces in one guest, or one guest for each host.

One guest counts time in instructions, so that its links have their nominal rates however busy this
machine is. Two guests are two kernels with a clock each, connected by links that QEMU provides;
disconnecting one removes the carrier at both ends, as with real interfaces.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import count
from pathlib import Path, PurePosixPath

from aferir.aggregation import traffic, wiring
from aferir.aggregation.shells import MAKING_S, output
from aferir.aggregation.traffic import PROGRAM, Outcome, Task, read, script
from aferir.environments.qemu.command_line import Wire
from aferir.environments.qemu.spec import GuestSpec
from aferir.environments.qemu.vm import GuestInstance, VirtualMachine
from aferir.errors import UsageError
from aferir.image import initramfs
from aferir.linux import journal, namespace
from aferir.model.network import MOST_LINKS, Event, Kind

_MEMORY = 512 * 2**20
_FOLDER = PurePosixPath("/run")
_PROGRAM = PurePosixPath("/opt/aferir") / PROGRAM
_LOAD = f"""set -e
for file in /{initramfs.NETWORK_FOLDER}/*.ko; do
  name=${{file##*-}}  # what the disk needs is there since the guest started
  [ -d /sys/module/${{name%.ko}} ] || insmod $file
done
"""
_LOADING_S = 300.0
_SLOWNESS = 100.0
"""Time limit for each emulated second, in seconds of the host."""


@contextmanager
def guest(program: Path) -> Iterator[Guest]:
    """A place with namespaces in an emulated guest, whose clock counts instructions."""
    with _booted(VirtualMachine(counted=True), program) as instance:
        yield Guest(instance)


@contextmanager
def guests(program: Path) -> Iterator[Guests]:
    """Two guests, one for each host, connected by the largest supported number of links."""
    entry = journal.write(namespace.KIND, {})
    try:
        folder = namespace.folder_of(entry)
        folder.mkdir(parents=True)
        with ExitStack() as stack:
            yield Guests([stack.enter_context(_host(folder, n, program)) for n in (0, 1)])
    finally:
        namespace.give_back(entry)


def _host(folder: Path, number: int, program: Path) -> AbstractContextManager[GuestInstance]:
    wires = [
        Wire(folder / f"{link}-{number}", folder / f"{link}-{1 - number}")
        for link in range(MOST_LINKS)
    ]
    return _booted(VirtualMachine(wires=wires), program)


@contextmanager
def _booted(machine: VirtualMachine, program: Path) -> Iterator[GuestInstance]:
    spec = GuestSpec(name="network", cpus=1, memory_bytes=_MEMORY)
    instance = machine.allocate(spec)
    try:
        instance.put(program, _PROGRAM)
        output(instance.run, _LOAD, _LOADING_S)
        yield instance
    finally:
        instance.release()


class Guest:
    """A place for test networks in one guest, whose clock counts instructions."""

    kind: Kind = "guest"

    def __init__(self, instance: GuestInstance) -> None:
        self._instance = instance
        self._numbers = count(1)

    def measure(self, task: Task) -> Outcome:
        """Measure a task: see `places.Place`."""
        text = script(task, f"n{next(self._numbers)}-", _PROGRAM, _FOLDER)
        return read(self.shell(text, timeout_s=_timeout_s(task)), task)

    def shell(self, text: str, *, timeout_s: float) -> str:
        """Run shell commands: see `places.Place`."""
        self._instance.resume()
        try:
            return output(self._instance.run, text, timeout_s)
        finally:
            # The clock of an idle guest of this kind would advance as fast as possible.
            self._instance.pause()


class Guests:
    """Two guests in which tasks of a test network are measured."""

    kind: Kind = "guests"

    def __init__(self, hosts: list[GuestInstance]) -> None:
        self._hosts = hosts
        self._numbers = count(1)

    def measure(self, task: Task) -> Outcome:
        """Measure a task of two hosts, the first of which sends, without a switch between them.

        Errors: UsageError for any other task.
        """
        check(task)
        prefix = f"n{next(self._numbers)}-"
        sender, receiver = self._hosts
        limit = _timeout_s(task)
        try:
            output(receiver.run, traffic.receiving(task, prefix, _PROGRAM, _FOLDER), limit)
            printed = output(sender.run, traffic.made_to_send(task, prefix, _FOLDER), limit)
            with self._events(task):
                sending = traffic.sending(task, prefix, _PROGRAM, _FOLDER)
                printed += output(sender.run, sending, limit)
            printed += output(receiver.run, traffic.received(task, prefix, _FOLDER), limit)
        finally:
            for host in self._hosts:
                host.run(["sh", "-c", traffic.left_for_next(task, prefix)], timeout_s=limit)
                for event in task.events:
                    host.plug(event.link, connected=True)
        return read(printed, task)

    def shell(self, text: str, *, timeout_s: float) -> str:
        """Run shell commands in the first guest."""
        return output(self._hosts[0].run, text, timeout_s)

    @contextmanager
    def _events(self, task: Task) -> Iterator[None]:
        timers = [threading.Timer(event.at_s, self._plug, [event]) for event in task.events]
        for timer in timers:
            timer.start()
        try:
            yield
        finally:
            for timer in timers:
                timer.cancel()
                timer.join()

    def _plug(self, event: Event) -> None:
        for host in self._hosts:
            host.plug(event.link, connected=event.up)


def check(task: Task) -> None:
    """Raise UsageError if two guests cannot carry out the task."""
    if task.network.hosts != 2 or wiring.wiring(task.network, task.method) != "direct":
        raise UsageError(
            "two guests are joined by cables, with no switch between them",
            remedy="choose the network `guest` for a switch, as balance-tlb and -alb need, or "
            "for more hosts",
        )
    if task.traffic.program != PROGRAM or task.traffic.pattern == "fan-in":
        raise UsageError(
            f"the first of two guests sends, by {PROGRAM}",
            remedy="choose the network `namespaces` or `guest` for another program or pattern",
        )


def _timeout_s(task: Task) -> float:
    return MAKING_S + _SLOWNESS * (task.traffic.seconds + 2)
