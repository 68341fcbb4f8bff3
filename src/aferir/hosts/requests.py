"""Carries out an agent's requests, by the code that local runs use.

Modules are imported by the first request that needs them: an agent that only describes its host
starts in a quarter of the time.
"""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import msgspec

from aferir.environments.measured import Measured
from aferir.errors import AferirError, MissingError, ProgramError
from aferir.hosts import addresses, frames, messages
from aferir.hosts.background import Background
from aferir.linux import fence, journal, pages, undo
from aferir.linux.process import Completed
from aferir.programs.base import PROGRAM_FOLDER
from aferir.programs.kernels import kernel_path

if TYPE_CHECKING:
    from aferir.environments.base import Environment, Instance, Kind
    from aferir.measuring.energy import Found, Meter


class Made(msgspec.Struct, frozen=True):
    """An instance that the agent has made, with its kind."""

    instance: Instance
    kind: Kind
    beside: contextlib.ExitStack
    """Changes of the host that were made for the instance; closing it undoes them."""


class Service:
    """Environments, instances and files of one agent."""

    def __init__(self, folder: Path) -> None:
        """Store received files in `folder`."""
        self._folder = folder
        self._environments: dict[str, Environment] = {}
        self._made: dict[int, Made] = {}
        self._started: dict[int, list[Background]] = {}
        self._count = 0
        self._metering = contextlib.ExitStack()
        self._power: Found | None = None

    def answer(self, request: messages.AnyRequest) -> object:  # noqa: C901, PLR0911
        """Carry out one request; returns None if it has no value. Errors: AferirError, OSError."""
        match request:
            case messages.Describe():
                return self._host()
            case messages.Identify():
                return messages.Identity(name=platform.node(), networks=addresses.own())
            case messages.Check(kind):
                return self._environment(kind).check()
            case messages.Prepare(kind, packages):
                return self._environment(kind).prepare(packages)
            case messages.Allocate(kind, spec):
                return self._allocate(kind, spec)
            case messages.Offer(digest):
                return self._file(digest).exists()
            case messages.Get(number, source):
                return self._get(number, source)
            case messages.Run():
                return self._run(request)
            case messages.Measure():
                return self._measure(request)
            case messages.EndMetering():
                return self._end_metering()
            case messages.Release(number):
                return self._release(number)
            case messages.Clean():
                return _clean()
        self._act(request)
        return None

    def _act(self, request: messages.AnyRequest) -> None:
        match request:
            case messages.Upload(digest, mode, content):
                self._receive(digest, mode, content)
            case messages.Put(number, digest, destination):
                made = self._of(number)
                made.instance.put(self._file(digest), self._here(made, destination))
            case messages.Start(number, command):
                self._start(number, command)
            case messages.Stop(number):
                self._stop(number)
            case messages.BeginMetering(power):
                self._begin_metering(power)
            case messages.Pause(number):
                self._of(number).instance.pause()
            case messages.Resume(number):
                self._of(number).instance.resume()

    def release_all(self) -> None:
        """Release everything even if some releases fail; what is left is in the journal."""
        undo.each(self._release_quietly, tuple(self._made))
        self._metering.close()

    def _host(self) -> messages.Host:
        from aferir import machine
        from aferir.machine import facts

        found = facts.collect()
        return messages.Host(
            limits=machine.host_limits(),
            facts=machine.describe(found, installed=False),
            findings=tuple(machine.findings(found)),
        )

    def _environment(self, kind: str) -> Environment:
        if kind not in self._environments:
            from aferir import registry

            self._environments[kind] = _kind(kind).make(registry.context())
        return self._environments[kind]

    def _allocate(self, kind: str, given: bytes) -> messages.Allocated:
        from aferir.environments import tenants

        environment = self._environment(kind)
        spec = msgspec.json.decode(given, type=_kind(kind).spec)
        with contextlib.ExitStack() as beside:
            if (merging := pages.begin(spec)) is not None:
                beside.callback(pages.give_back, merging)
            if (strangers := fence.begin(spec.overlay)) is not None:
                beside.callback(fence.give_back, strangers)
            instance = tenants.allocate(environment, spec)
            self._count += 1
            self._made[self._count] = Made(instance, _kind(kind), beside.pop_all())
        return messages.Allocated(
            instance=self._count,
            phases=instance.phases,
            emulated=instance.emulated,
            own_kernel=instance.accounting.own_kernel,
        )

    def _of(self, number: int) -> Made:
        if number not in self._made:
            raise ProgramError("the instance is not there any more")
        return self._made[number]

    def _start(self, number: int, command: tuple[str, ...]) -> None:
        made, started = self._of(number), self._started.setdefault(number, [])
        mark = self._folder / f"started-{number}-{len(started)}"
        started.append(Background(made.instance, self._line(made, command), mark))

    def _stop(self, number: int) -> None:
        for one in self._started.pop(number, ()):
            one.end()

    def _release(self, number: int) -> float:
        self._stop(number)
        made = self._made.pop(number, None)
        if made is None:
            return 0.0
        with made.beside:
            return made.instance.release()

    def _release_quietly(self, number: int) -> None:
        try:
            self._release(number)
        except (AferirError, OSError):
            return

    def _file(self, digest: str) -> Path:
        if len(digest) != 64 or not digest.isalnum():
            raise ProgramError("the name of a file is not its SHA-256")
        return self._folder / digest

    def _receive(self, digest: str, mode: int, content: bytes) -> None:
        coming = self._file(digest).with_suffix(".coming")
        if content:
            with coming.open("ab") as stream:
                stream.write(content)
            return
        import hashlib

        coming.touch()
        found = hashlib.sha256(coming.read_bytes()).hexdigest()
        if found != digest:
            coming.unlink()
            raise ProgramError("a file did not arrive whole")
        coming.chmod(mode)
        coming.rename(self._file(digest))

    def _get(self, number: int, source: str) -> bytes:
        made = self._of(number)
        fetched = self._folder / "fetched"
        made.instance.get(self._here(made, source), fetched)
        content = fetched.read_bytes()
        fetched.unlink()
        if len(content) > frames.LONGEST // 2:
            raise ProgramError(f"{source} has {len(content)} bytes, too many to be fetched")
        return content

    def _run(self, request: messages.Run) -> Completed:
        made = self._of(request.instance)
        return made.instance.run(
            self._line(made, request.command),
            timeout_s=request.timeout_s,
            environment=request.environment,
            check=request.check,
        )

    def _measure(self, request: messages.Measure) -> Measured:
        from aferir import probes
        from aferir.measuring.run import measure
        from aferir.measuring.snapshots import Watch
        from aferir.probes import account, frequency

        made = self._of(request.instance)
        watch = Watch(
            probes.all_probes(),
            _program(frequency.PROGRAM),
            _program(account.PROGRAM) if request.accounted else None,
            meter=_meter(request.power),
            load_period_s=request.load_period_s,
        )
        line = self._line(made, request.command)
        return measure(made.instance, line, request.environment, watch, request.timeout_s)

    def _begin_metering(self, power: str) -> None:
        from aferir.measuring.energy import metered

        self._metering.close()
        self._power = self._metering.enter_context(metered(_meter(power)))

    def _end_metering(self) -> messages.Metered:
        self._metering.close()
        found, self._power = self._power, None
        if found is None:
            return messages.Metered()
        return messages.Metered(samples=found.samples, warnings=found.warnings, series=found.series)

    def _line(self, made: Made, command: tuple[str, ...]) -> tuple[str, ...]:
        """Command with the paths of programs on this host."""
        return tuple(
            str(self._here(made, word)) if word.startswith(f"{PROGRAM_FOLDER}/") else word
            for word in command
        )

    def _here(self, made: Made, path: str) -> PurePosixPath:
        """Path on this host: native programs use a folder that is removed with the agent."""
        given = PurePosixPath(path)
        if made.kind.on_host and given.is_relative_to(PROGRAM_FOLDER):
            return PurePosixPath(self._folder) / "programs" / given.relative_to(PROGRAM_FOLDER)
        return given


def _kind(name: str) -> Kind:
    """Kind of environment called `name`. Errors: MissingError."""
    from aferir import registry

    known = registry.kinds()
    if name not in known:
        raise MissingError(f"there is no kind `{name}` of environment")
    return known[name]


def _meter(power: str) -> Callable[[], Meter] | None:
    if not power:
        return None
    from aferir.power import meter, sources

    return lambda: meter.Meter(sources.source(power))


def _clean() -> list[str]:
    from aferir import registry

    return registry.clean(journal.orphans())


def _program(name: str) -> Path | None:
    try:
        return kernel_path(name)
    except MissingError:
        return None
