"""Runs the same program in several instances of an environment, to measure their mutual cost."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

import msgspec

from aferir.environments.base import Accounting, Environment, Instance, Phases
from aferir.errors import AferirError, ProgramError
from aferir.linux import affinity, undo
from aferir.linux.process import Completed
from aferir.model.plan import EnvironmentSpec

_VARIABLE = "AFERIR_TENANTS"
"""Environment variable that marks all processes started for the tenants by one call."""


def allocate(environment: Environment, spec: EnvironmentSpec) -> Instance:
    """Allocate one instance, or one for each tenant, one after another.

    Errors: those of the environment; instances allocated before the error are released.
    """
    if spec.tenants == 1:
        return environment.allocate(spec)
    clock = time.perf_counter()
    made: list[Instance] = []
    try:
        host = affinity.host_cpus()
        for own in (of_tenant(spec, tenant, host) for tenant in range(spec.tenants)):
            made.append(environment.allocate(own))  # noqa: PERF401 - what was made is given back
    except BaseException:
        for instance in made:
            with contextlib.suppress(AferirError, OSError):
                instance.release()
        raise
    return Tenants(spec, made, time.perf_counter() - clock)


def of_tenant(spec: EnvironmentSpec, tenant: int, host: Sequence[int]) -> EnvironmentSpec:
    """Specification of one tenant, with the next CPUs after the previous tenant's, cyclically."""
    cpus = spec.pin or tuple(host)
    wanted = spec.cpus * spec.machines()
    start = tenant * wanted % len(cpus)
    turned = (*cpus[start:], *cpus[:start])
    return msgspec.structs.replace(spec, tenants=1, pin=turned[:wanted])


class Tenants:
    """Tenants that appear as one instance.

    Its control groups are the first tenant's; its processes, and processors of guests, are those of
    all tenants.
    """

    def __init__(
        self, spec: EnvironmentSpec, instances: Sequence[Instance], total_s: float
    ) -> None:
        self.spec = spec
        self.phases = Phases(total_s=total_s)
        self.emulated = any(instance.emulated for instance in instances)
        each = {f"tenant {n}": own.accounting for n, own in enumerate(instances, start=1)}
        self.accounting: Accounting = msgspec.structs.replace(
            instances[0].accounting,
            processes=tuple(pid for own in each.values() for pid in own.processes),
            processors=tuple(path for own in each.values() for path in own.processors),
            members=each,
        )
        self._instances = tuple(instances)

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a command in all tenants at once, until the last one ends.

        With `stagger` in the specification each starts that much after the one before. Returns the
        result of the first tenant, with those of the others in `others`. Errors: those of any.
        """
        mark = uuid.uuid4().hex
        variables = {**(environment or {}), _VARIABLE: mark}
        over = threading.Event()

        def one(place: int) -> Completed:
            if over.wait(place * self.spec.stagger):
                raise ProgramError("another tenant failed before this one had started")
            return self._instances[place].run(
                command, timeout_s=timeout_s, environment=variables, check=check
            )

        with ThreadPoolExecutor(len(self._instances)) as threads:
            running = [threads.submit(one, place) for place in range(len(self._instances))]
            try:
                first, *others = [each.result() for each in running]
            except BaseException:
                over.set()
                # Leaving the pool waits for its threads, and these for the programs inside.
                undo.kill(lambda _, found: found.get(_VARIABLE) == mark)
                raise
        return msgspec.structs.replace(first, others=tuple(others))

    def put(self, source: Path, destination: PurePosixPath) -> None:
        """Copy one host file into each tenant."""
        self._each(lambda instance: instance.put(source, destination))

    def get(self, source: PurePosixPath, destination: Path) -> None:
        """Copy one file of the first tenant to the host."""
        self._instances[0].get(source, destination)

    def pause(self) -> None:
        """Pause all tenants."""
        self._each(lambda instance: instance.pause())

    def resume(self) -> None:
        """Resume all tenants."""
        self._each(lambda instance: instance.resume())

    def release(self) -> float:
        """Release all tenants, even if some fail; raises the first error."""
        clock = time.perf_counter()
        errors: list[AferirError | OSError] = []
        for instance in self._instances:
            try:
                instance.release()
            except (AferirError, OSError) as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return time.perf_counter() - clock

    def _each(self, act: Callable[[Instance], None]) -> None:
        for instance in self._instances:
            act(instance)
