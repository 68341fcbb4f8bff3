"""Instances of one round: allocated at its start, paused unless in use, released at its end."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from aferir.environments.base import Environment, Instance, Phases
from aferir.environments.tenants import allocate
from aferir.errors import AferirError
from aferir.linux import pages, steady
from aferir.linux.journal import Entry
from aferir.measuring.outcome import failure_of, refuse_exhaustion
from aferir.model.plan import EnvironmentSpec
from aferir.model.record import ALLOCATION, Failure, Record, Sample, Warning, allocation_cell
from aferir.model.stamps import Stamp, between
from aferir.programs.base import PROGRAM_FOLDER
from aferir.runner.stopping import EMULATED, Round

IS_EMULATED = Warning(
    EMULATED,
    "the instance ran on a processor emulated in software, many times slower than a real one",
    "read the figures as the emulator's; run where `aferir doctor` finds a working KVM",
)
_RELEASE = "release"


def of_user_kernel(spec: EnvironmentSpec) -> tuple[Warning, ...]:
    """Warning that is attached to each figure of an environment with a user-space kernel."""
    if not (kernel := spec.user_kernel()):
        return ()
    return (
        Warning(
            "kernel-in-user-space",
            f"programs ran on {kernel}: real figures, neither emulated nor by KVM",
            "set them beside those of other kernels in user space, not of virtual machines",
        ),
    )


class Allocation(msgspec.Struct, frozen=True, kw_only=True):
    """One allocation of an instance, from the request to the release."""

    started_unix_ns: int
    began: Stamp | None = None
    """Start of the first phase on our clock, also if it is on another host; None: unknown."""
    phases: Phases | None = None
    emulated: bool = False
    warnings: tuple[Warning, ...] = ()
    release_s: float | None = None
    failure: Failure | None = None


class Pool:
    """Live instances of a round, at most one for each environment; `release` releases them all."""

    def __init__(
        self,
        specs: Mapping[str, EnvironmentSpec],
        environments: Mapping[str, Environment],
        programs: Mapping[str, Collection[Path]],
        *,
        on_host: Collection[str],
    ) -> None:
        """`programs` maps an environment's name to the files that are copied into its instances.

        Nothing is copied for kinds in `on_host`, which see the host's files.
        """
        self._specs = specs
        self._environments = environments
        self._programs = programs
        self._on_host = on_host
        self._live: dict[str, Instance] = {}
        self._allocations: dict[str, Allocation] = {}
        self._merging: dict[str, Entry] = {}

    def get(self, name: str) -> Instance | Failure:
        """Return the paused instance of an environment, or why there is none; allocate if needed.

        A failed allocation is not tried again in the same round. A failed release does not prevent
        a new allocation: what was left behind is in the journal, and the new instance is a
        different one.
        """
        if name in self._live:
            return self._live[name]
        known = self._allocations.get(name)
        if known is not None and known.failure is not None and known.failure.code != _RELEASE:
            return known.failure
        return self._allocate(name)

    def drop(self, name: str) -> None:
        """Release an instance that died or that cannot be trusted any more."""
        instance = self._live.pop(name, None)
        if instance is not None:
            self._note_release(name, instance)
        if name in self._merging:
            pages.give_back(self._merging.pop(name))

    def release(self) -> dict[str, Allocation]:
        """Release all instances even if some releases fail; returns this round's allocations."""
        for name in {**self._live, **self._merging}:
            self.drop(name)
        return self._allocations

    def _allocate(self, name: str) -> Instance | Failure:
        spec = self._specs[name]
        started = steady.unix_ns()
        before = self._allocations.get(name)
        stayed = before.failure if before is not None else None
        self._allocations[name] = Allocation(started_unix_ns=started, failure=stayed)
        try:
            instance = self._make(name, spec)
            self._live[name] = instance
            self._allocations[name] = Allocation(
                started_unix_ns=started,
                # Where another host allocates, request and answer take time on their way.
                began=between(started, steady.unix_ns(), instance.phases.total_s),
                phases=instance.phases,
                emulated=instance.emulated,
                warnings=of_user_kernel(spec),
                failure=stayed,
            )
            if spec.host or spec.kind not in self._on_host:
                for program in self._programs.get(name, ()):
                    instance.put(program, PROGRAM_FOLDER / program.name)
            instance.pause()
        except (AferirError, OSError) as error:
            refuse_exhaustion(error, name)
            failure = failure_of("allocation", error)
            self.drop(name)
            self._allocations[name] = msgspec.structs.replace(
                self._allocations[name], failure=failure
            )
            return failure
        return instance

    def _make(self, name: str, spec: EnvironmentSpec) -> Instance:
        """Allocate the instance with all its tenants; on another host, the agent there does so."""
        environment = self._environments[spec.place]
        if spec.host:
            return environment.allocate(spec)
        if (merging := pages.begin(spec)) is not None:
            self._merging[name] = merging
        return allocate(environment, spec)

    def _note_release(self, name: str, instance: Instance) -> None:
        allocation = self._allocations[name]
        try:
            allocation = msgspec.structs.replace(allocation, release_s=instance.release())
        except (AferirError, OSError) as error:
            allocation = msgspec.structs.replace(allocation, failure=failure_of(_RELEASE, error))
        self._allocations[name] = allocation


def allocation_record(name: str, turn: Round, allocation: Allocation) -> Record:
    """Record of one allocation; its samples have the side `environment`."""
    values = msgspec.structs.asdict(allocation.phases) if allocation.phases else {}
    values["release_s"] = allocation.release_s
    return Record(
        cell=allocation_cell(name),
        group=ALLOCATION,
        environment=name,
        workload=ALLOCATION,
        repetition=turn.number,
        warmup=turn.warmup,
        started_unix_ns=allocation.started_unix_ns,
        began=allocation.began,
        samples=tuple(
            Sample(metric, value, "s", "environment")
            for metric, value in values.items()
            if value is not None
        ),
        warnings=(*allocation.warnings, *((IS_EMULATED,) if allocation.emulated else ())),
        failure=allocation.failure,
    )
