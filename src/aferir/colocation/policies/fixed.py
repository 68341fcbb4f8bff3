"""Static baselines: settings of the kernel that no controller changes."""

from __future__ import annotations

from collections.abc import Callable

from aferir.colocation.policies.reservation import Reservation, plan
from aferir.colocation.settings import Batch, Policy, Schedule, Settings, State

_PERIOD_S = 0.05
"""Period of static reservations in seconds: a quarter of an SLA of 200 ms."""


def default() -> Policy[None]:
    """Leave everything as it was found."""
    return _constant()


def alone() -> Policy[None]:
    """Suspend the batch; the service alone shows what SLA it can meet."""
    return _constant(batch=Batch(suspended=True))


def service_nice() -> Policy[None]:
    """Run the service at nice -20."""
    return _constant(service=Schedule(nice=-20))


def batch_nice() -> Policy[None]:
    """Run the batch at nice 19."""
    return _constant(batch=Batch(nice=19))


def batch() -> Policy[None]:
    """Run the batch under SCHED_BATCH, so that it never preempts another thread on waking."""
    return _constant(batch=Batch(policy="batch"))


def idle() -> Policy[None]:
    """Run the batch under SCHED_IDLE: weight 3 beside 1,024, preempted by any thread that wakes."""
    return _constant(batch=Batch(policy="idle"))


def weight() -> Policy[None]:
    """Run the batch in a control group of weight 1 beside 100."""
    return _constant(batch=Batch(weight=1))


def cpu_idle() -> Policy[None]:
    """Run the batch in a control group that is idle as a whole (cpu.idle)."""
    return _constant(batch=Batch(idle=True))


def quota() -> Policy[None]:
    """Limit the batch to half of the CPUs by a quota."""
    return _stateless(lambda state: Settings(batch=Batch(quota_cpus=state.cores / 2)))


def fifo() -> Policy[None]:
    """Run the whole service under SCHED_FIFO: lowest latency, but other processes may starve."""
    return _constant(service=Schedule(policy="fifo", priority=1))


def cpuset() -> Policy[None]:
    """Divide the CPUs equally, an odd one for the service; with one CPU, suspend the batch."""

    def decide(state: State) -> Settings:
        if state.cores < 2:
            return Settings(batch=Batch(suspended=True))
        half = (state.cores + 1) // 2
        return Settings(
            service_cpus=tuple(range(half)), batch=Batch(cpus=tuple(range(half, state.cores)))
        )

    return _stateless(decide)


def deadline() -> Policy[None]:
    """Reserve an equal and constant share for each critical thread."""
    return _static_deadline(reclaim=False)


def deadline_reclaim() -> Policy[None]:
    """Like `deadline`, but a thread may also use time that other reservations leave (GRUB)."""
    return _static_deadline(reclaim=True)


def _static_deadline(*, reclaim: bool) -> Policy[None]:
    def decide(state: State) -> Settings:
        wanted = [Reservation(thread.tid, 1.0) for thread in state.threads]
        planned = plan(wanted, state.reservable_cpus, period_s=_PERIOD_S, reclaim=reclaim)
        return Settings(threads=planned)

    return _stateless(decide)


def _constant(*, service: Schedule | None = None, batch: Batch | None = None) -> Policy[None]:
    settings = Settings(service=service, batch=batch or Batch())
    return _stateless(lambda _: settings)


def _stateless(decide: Callable[[State], Settings]) -> Policy[None]:
    """Return a policy that needs no memory."""
    return Policy(None, lambda state, _: (decide(state), None))
