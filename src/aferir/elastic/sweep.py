"""Many simulated runs, each described by a value, so that any process can execute them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np

from aferir.elastic.contention import Contention
from aferir.elastic.front import Books, Settings
from aferir.elastic.hibernation import Hibernation, HostUse
from aferir.elastic.metrics import Elasticity, elasticity
from aferir.elastic.simulate import Draw, Load, Result, gamma, resampled, simulate


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Distribution of allocation latencies, from which a run draws.

    Either measured ones to resample, or a mean with its standard deviation.
    """

    mean_s: float = 0.0
    sd_s: float = 0.0
    measured_s: tuple[float, ...] = ()

    def draw(self, rng: np.random.Generator) -> Draw:
        """A function that draws latencies. Errors: ValueError if a measured one is invalid."""
        if self.measured_s:
            return resampled(self.measured_s, rng)
        return gamma(self.mean_s, self.sd_s, rng)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Description of one simulated run."""

    settings: Settings
    load: Load
    latency: Latency
    seed: tuple[int, ...]
    trace_s: tuple[float, ...] | None = None
    """Arrival times in seconds, which replace those drawn from the load."""
    shared: Contention = Contention()
    """Resources that allocations share while they are under way, and so delay one another."""
    hibernation: Hibernation | None = None
    """Hosts that hibernate; None: hosts are not simulated."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a run, without its course over time."""

    books: Books
    allocations: int
    most_nodes: int
    blocked_percent: float
    followed: Elasticity
    use: HostUse | None = None


def course_of(job: Job) -> Result:
    """Simulate a job, and return its course over time as well."""
    rng = np.random.default_rng(list(job.seed))
    trace = None if job.trace_s is None else np.asarray(job.trace_s, dtype=float)
    latency_s = job.latency.draw(rng)
    return simulate(
        job.settings,
        job.load,
        rng,
        latency_s,
        trace=trace,
        shared=job.shared,
        hibernation=job.hibernation,
    )


def run_one(job: Job) -> Outcome:
    """Simulate a job; the result is the same wherever it runs."""
    made = course_of(job)
    return Outcome(
        books=made.books,
        allocations=made.allocations,
        most_nodes=made.most_nodes,
        blocked_percent=made.blocked_percent,
        followed=elasticity(made.trace, job.settings.clients_per_node),
        use=made.use,
    )


def run_here(jobs: Iterable[Job]) -> list[Outcome]:
    """Run the jobs one after another in this process."""
    return [run_one(job) for job in jobs]
