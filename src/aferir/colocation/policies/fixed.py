"""Baselines that never change their mind: what the kernel gives without a controller."""

from __future__ import annotations

from aferir.colocation.policies.reservation import Reservation, plan
from aferir.colocation.settings import Batch, Decide, Schedule, Settings, State

_PERIOD_S = 0.05
"""Of static reservations: a quarter of an SLA of 200 ms, as 18/50 ms of 4 threads on 2 CPUs."""


def default() -> Decide:
    """Everything as it was found."""
    return lambda _: Settings()


def alone() -> Decide:
    """The service without batch work: what the SLA is measured against first."""
    return _constant(batch=Batch(suspended=True))


def service_nice() -> Decide:
    """The service at nice -20."""
    return _constant(service=Schedule(nice=-20))


def batch_nice() -> Decide:
    """The batch work at nice 19."""
    return _constant(batch=Batch(nice=19))


def batch() -> Decide:
    """The batch work under SCHED_BATCH, which never takes a processor when it wakes."""
    return _constant(batch=Batch(policy="batch"))


def idle() -> Decide:
    """The batch work under SCHED_IDLE: weight 3 beside 1024, and gives way to whoever wakes."""
    return _constant(batch=Batch(policy="idle"))


def weight() -> Decide:
    """The batch work in a control group of weight 1 beside 100."""
    return _constant(batch=Batch(weight=1))


def cpu_idle() -> Decide:
    """The batch work in a control group that is SCHED_IDLE as a whole."""
    return _constant(batch=Batch(idle=True))


def quota() -> Decide:
    """The batch work held to half of the processors."""
    return lambda state: Settings(batch=Batch(quota_cpus=state.cores / 2))


def fifo() -> Decide:
    """The whole service under SCHED_FIFO: the least latency, at the cost of everybody else."""
    return _constant(service=Schedule(policy="fifo", priority=1))


def cpuset() -> Decide:
    """Half of the processors for each; the service has the odd one, or the only one."""

    def decide(state: State) -> Settings:
        if state.cores < 2:
            return Settings(batch=Batch(suspended=True))
        half = (state.cores + 1) // 2
        return Settings(
            service_cpus=tuple(range(half)), batch=Batch(cpus=tuple(range(half, state.cores)))
        )

    return decide


def deadline() -> Decide:
    """A reservation for each critical thread, of equal shares that never change."""
    return _static_deadline(reclaim=False)


def deadline_reclaim() -> Decide:
    """The same, where a thread may use what others leave."""
    return _static_deadline(reclaim=True)


def _static_deadline(*, reclaim: bool) -> Decide:
    def decide(state: State) -> Settings:
        wanted = [Reservation(thread.tid, 1.0) for thread in state.threads]
        planned = plan(wanted, state.reservable_cpus, period_s=_PERIOD_S, reclaim=reclaim)
        return Settings(threads=planned)

    return decide


def _constant(*, service: Schedule | None = None, batch: Batch | None = None) -> Decide:
    settings = Settings(service=service, batch=batch or Batch())
    return lambda _: settings
