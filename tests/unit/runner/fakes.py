"""Environments, workloads and a watcher for tests of the runner, all in this process."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from aferir.config import parse
from aferir.environments.base import Accounting, Context, Environment, Instance, Kind, Phases
from aferir.errors import MissingError, ProgramError, UnverifiedError
from aferir.linux.process import Completed
from aferir.linux.wait import MONOTONIC, Clock
from aferir.model.finding import Finding
from aferir.model.parameters import text, whole
from aferir.model.plan import Cell, EnvironmentSpec, HostLimits, Plan
from aferir.model.record import Record, Sample
from aferir.programs.base import Command, Program
from aferir.registry import kinds
from aferir.runner import run
from aferir.store import Run

HOST = HostLimits(cpus=(0, 1), memory_bytes=4 * 2**30)

Behave = Callable[[str, Sequence[str], int], str]
"""Environment, command and how many commands came before -> standard output, or an error."""


class ShellParameters(msgspec.Struct, frozen=True, kw_only=True):
    script: Annotated[str, text("what the shell runs", "true")] = "echo '{\"duration_s\": 0.5}'"
    threads: Annotated[int, whole("none", 1, 8)] = 1


class Shell(Program[ShellParameters]):
    """A small real program: the shell prints a duration of its own choice."""

    name = "shell"
    parameters = ShellParameters

    def memory_bytes(self, parameters: ShellParameters) -> int:
        return 2**20

    def check(self) -> list[Finding]:
        return []

    def command(self, parameters: ShellParameters) -> Command:
        script = parameters.script
        if script == "absent":
            raise MissingError("the shell is not there", remedy="add it")
        return Command(Path("/bin/sh"), ("-c", script), {"AFERIR_TEST": "1"})

    def parse(self, stdout: str) -> tuple[Sample, ...]:
        try:
            figures = json.loads(stdout)
            duration = float(figures["duration_s"])
        except (ValueError, KeyError, TypeError) as reason:
            raise ProgramError(f"unreadable: {reason}") from None
        if figures.get("verified") is False:
            raise UnverifiedError("it did not verify")
        return (Sample("duration_s", duration, "s"),)


class FakeInstance:
    """Answers commands in no time, and keeps count of what it is asked."""

    def __init__(self, owner: FakeEnvironment, spec: EnvironmentSpec) -> None:
        self.spec = spec
        self.phases = owner.phases
        self.emulated = owner.emulated
        self.accounting = owner.accounting
        self.owner = owner
        self.paused = False
        self.released = False

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        assert not self.paused
        assert not self.released
        self.owner.log.append(f"run {self.spec.name}")
        began_s = self.owner.clock.now_s()
        stdout = self.owner.behave(self.spec.name, command, self.owner.count)
        spent_s = self.owner.clock.now_s() - began_s
        self.owner.count += 1
        code = 1 if stdout.startswith("exit 1") else 0
        return Completed(tuple(command), code, stdout.removeprefix("exit 1"), "", 1, spent_s)

    def put(self, source: Path, destination: PurePosixPath) -> None:
        self.owner.log.append(f"put {destination}")

    def get(self, source: PurePosixPath, destination: Path) -> None:
        raise NotImplementedError

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def release(self) -> float:
        if not self.released:
            self.owner.log.append(f"release {self.spec.name}")
            self.owner.live -= 1
        self.released = True
        return self.phases.total_s / 4


def answer(_name: str, _command: Sequence[str], _count: int) -> str:
    return '{"duration_s": 0.5}'


class FakeEnvironment:
    """One kind of environment that makes nothing."""

    def __init__(
        self,
        kind: str,
        *,
        behave: Behave = answer,
        emulated: bool = False,
        missing: str = "",
        accounting: Accounting | None = None,
        clock: Clock = MONOTONIC,
    ) -> None:
        self.kind = kind
        self.clock = clock
        self.behave = behave
        self.emulated = emulated
        self.missing = missing
        self.accounting = accounting or Accounting()
        self.phases = Phases(booted_s=0.25, ready_s=0.25, total_s=0.5)
        self.log: list[str] = []
        self.live = 0
        self.count = 0
        self.refuse: Callable[[], None] = lambda: None

    def check(self) -> list[Finding]:
        if self.missing:
            return [Finding(self.kind, "missing", self.missing, "apt-get install it")]
        return [Finding(self.kind, "ok", "fine")]

    def prepare(self, packages: tuple[str, ...] = ()) -> str:
        return f"image-of-{self.kind}"

    def allocate(self, spec: EnvironmentSpec) -> Instance:
        self.refuse()
        self.log.append(f"allocate {spec.name}")
        self.live += 1
        return FakeInstance(self, spec)


class Watcher:
    """Stores the events of a run."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.cells: list[tuple[str, int, int, float | None]] = []
        self.records: list[Record] = []
        self.rounds: list[tuple[int, int, bool]] = []

    def preparing(self, text: str) -> None:
        pass

    def round_started(self, number: int, total: int, warmup: bool) -> None:
        self.rounds.append((number, total, warmup))

    def cell_started(self, cell: Cell, index: int, total: int, eta_s: float | None) -> None:
        self.cells.append((cell.id, index, total, eta_s))

    def cell_finished(self, record: Record) -> None:
        self.records.append(record)

    def note(self, text: str) -> None:
        self.notes.append(text)


WORKLOADS: dict[str, Program[Any]] = {"shell": Shell()}


def experiment(
    *,
    environments: Sequence[str] = ("native", "container", "vm"),
    workloads: Mapping[str, str] | None = None,
    stop: str = "repetitions = 3",
    header: str = "",
) -> bytes:
    """An experiment file; environments are named after their kind."""
    text = f'[experiment]\nname = "test"\n{header}\n[stop]\n{stop}\n'
    for kind in environments:
        text += f'[[environment]]\nname = "{kind}"\nkind = "{kind}"\n'
    for name, script in (workloads or {"a": "", "b": ""}).items():
        text += f'[[workload]]\nname = "{name}"\nprogram = "shell"\n'
        if script:
            text += f"script = {json.dumps(script)}\n"
    return text.encode()


def plan_of(content: bytes) -> Plan:
    return parse(content, HOST, WORKLOADS, kinds())


def fakes(*made: FakeEnvironment) -> dict[str, Kind]:
    """The real kinds, but for what they make; those that are not given behave well."""
    given = {each.kind: each for each in made}
    return {
        name: replace(kind, make=partial(_given, given.get(name) or FakeEnvironment(name)))
        for name, kind in kinds().items()
    }


def _given(environment: Environment, _: Context) -> Environment:
    return environment


def carry_out(
    runs: Path,
    content: bytes,
    *made: FakeEnvironment,
    watcher: Watcher | None = None,
    fresh: bool = False,
    facts: Mapping[str, object] | None = None,
    clock: Clock = MONOTONIC,
) -> Run:
    return run(
        plan_of(content),
        runs,
        experiment=content,
        kinds=fakes(*made),
        workloads=WORKLOADS,
        facts=facts,
        progress=watcher or Watcher(),
        fresh=fresh,
        clock=clock,
    )


def keys(run_made: Run) -> Counter[tuple[str, int, bool]]:
    return Counter((r.cell, r.repetition, r.warmup) for r in run_made.records)


def of(run_made: Run, cell: str) -> list[Record]:
    return [record for record in run_made.records if record.cell == cell]
