"""Static baselines: settings of the kernel that no controller changes."""

from __future__ import annotations

from aferir.colocation.policies.reservation import Reservation, plan
from aferir.colocation.settings import Batch, Decide, Schedule, Settings, State

_PERIOD_S = 0.05
"""Period of static reservations in seconds: a quarter of an SLA of 200 ms."""


def default() -> Decide:
    """Leave everything as it was found."""
    return lambda _: Settings()


def alone() -> Decide:
    """Suspend the batch; the service alone shows what SLA it can meet."""
    return _constant(batch=Batch(suspended=True))


def service_nice() -> Decide:
    """Run the service at nice -20."""
    return _constant(service=Schedule(nice=-20))


def batch_nice() -> Decide:
    """Run the batch at nice 19."""
    return _constant(batch=Batch(nice=19))


def batch() -> Decide:
    """Run the batch under SCHED_BATCH, so that it never preempts another thread when it wakes."""
    return _constant(batch=Batch(policy="batch"))


def idle() -> Decide:
    """Run the batch under SCHED_IDLE: weight 3 beside 1,024, preempted by any thread that wakes."""
    return _constant(batch=Batch(policy="idle"))


def weight() -> Decide:
    """Run the batch in a control group of weight 1 beside 100."""
    return _constant(batch=Batch(weight=1))


def cpu_idle() -> Decide:
    """Run the batch in a control group that is idle as a whole (cpu.idle)."""
    return _constant(batch=Batch(idle=True))


def quota() -> Decide:
    """Limit the batch to half of the CPUs by a quota."""
    return lambda state: Settings(batch=Batch(quota_cpus=state.cores / 2))


def fifo() -> Decide:
    """Run the whole service under SCHED_FIFO: the least latency, but other processes may starve."""
    return _constant(service=Schedule(policy="fifo", priority=1))


def cpuset() -> Decide:
    """Split the CPUs in halves, the odd one for the service; with one CPU, suspend the batch."""

    def decide(state: State) -> Settings:
        if state.cores < 2:
            return Settings(batch=Batch(suspended=True))
        half = (state.cores + 1) // 2
        return Settings(
            service_cpus=tuple(range(half)), batch=Batch(cpus=tuple(range(half, state.cores)))
        )

    return decide


def deadline() -> Decide:
    """Reserve an equal and constant share for each critical thread."""
    return _static_deadline(reclaim=False)


def deadline_reclaim() -> Decide:
    """Like `deadline`, but a thread may also use the time that other reservations leave (GRUB)."""
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
