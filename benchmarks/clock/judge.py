"""Compute and judge the figures of the clock bench; this module measures nothing itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import msgspec

from aferir.clock.bench_program import Bound, Ecp, EcpCase, Line, Sync, cost_of
from aferir.model.bench import Figure
from aferir.statistics.intervals import median_interval

OVER_RDTSCP = 1.05
OVER_MONOTONIC = 0.85
MEDIAN_ERROR_NS = 50.0
P99_ERROR_NS = 200.0
MEDIAN_TOOK_NS = 1e6
INVENTED_PPM = 0.1
SIMULATION_S = 10.0

_STRICT = "rvec_read"
_AGAINST = (
    ("rdtscp", "read.over_rdtscp", OVER_RDTSCP),
    ("clock_gettime(CLOCK_MONOTONIC)", "read.over_clock_monotonic", OVER_MONOTONIC),
)


class PeerErrors(msgspec.Struct, frozen=True, kw_only=True):
    """Offsets in nanoseconds that a peer reported between two ends whose true offset is 0."""

    offsets_ns: tuple[float, ...]
    problem: str = ""


def costs(runs: Sequence[Sequence[Line]]) -> list[Figure]:
    """Compare the strict read's cost with each rival's: one ratio of best rounds for each run."""
    return [_cost(runs, clock, name, limit) for clock, name, limit in _AGAINST]


def _cost(runs: Sequence[Sequence[Line]], clock: str, name: str, limit: float) -> Figure:
    pairs = [(cost_of(lines, _STRICT), cost_of(lines, clock)) for lines in runs]
    both = [(ours, theirs) for ours, theirs in pairs if ours and theirs and theirs.min_ns > 0]
    target = f"<= {limit:.2f}"
    if not both:
        text = f"this machine has no {clock}"
        return Figure(name=name, value=None, unit="ratio", n=0, target=target, note=text)
    ratios = [ours.min_ns / theirs.min_ns for ours, theirs in both]
    value = median(ratios)
    typical = median(ours.median_ns / theirs.median_ns for ours, theirs in both)
    return Figure(
        name=name,
        value=value,
        unit="ratio",
        n=len(ratios),
        interval=_interval(ratios),
        target=target,
        holds=value <= limit,
        peer=clock,
        peer_value=min(theirs.min_ns for _, theirs in both),
        note=f"ns of ours over theirs, less is better: {min(o.min_ns for o, _ in both):.1f} ns at "
        f"best; of median rounds {typical:.3f}",
    )


_ECP_CASES: Mapping[EcpCase, str] = {
    "migrations": "through {:,} forced migrations",
    "hand_overs": "in causal order, handed over between two cores",
    "refinements": "of clocks that another thread refines: {:,} new rates",
}


def ecp(found: Sequence[Ecp], cases: Sequence[EcpCase]) -> list[Figure]:
    """Count violations of strict order; there is one figure for each way of provoking them."""
    figures = []
    for case in cases:
        pieces = [line for line in found if line.case == case]
        reads = sum(line.reads for line in pieces)
        violations = sum(line.violations for line in pieces)
        provoked = sum(line.provoked for line in pieces)
        said = f"{reads:,} reads {_ECP_CASES[case].format(provoked)}"
        figures.append(
            Figure(
                name=f"ecp.violations.{case}",
                value=float(violations) if reads else None,
                unit="count",
                n=reads,
                target="== 0",
                # On one core no migration can be forced, and nothing is proved.
                holds=violations == 0 and provoked > 0,
                note=said if reads else "nothing was read",
            )
        )
    return figures


def sync(found: Sync, peers: Mapping[str, PeerErrors]) -> list[Figure]:
    """Judge errors and time of one-shot synchronisation beside the reports of peers."""
    failed = f"{found.failures} of {found.runs + found.failures} failed" if found.failures else ""
    stamped = f"{found.stamped_by_kernel} of {found.runs} by the kernel's stamps"
    note = ", ".join(filter(None, (failed, stamped)))
    limits = (
        ("median_error", found.median_error_ns, MEDIAN_ERROR_NS, "<="),
        ("p99_error", found.p99_error_ns, P99_ERROR_NS, "<="),
        ("median_duration", found.median_took_ns, MEDIAN_TOOK_NS, "<"),
    )
    figures = [
        Figure(
            name=f"sync.{name}",
            value=None if value is None else value * 1e-9,
            unit="s",
            n=found.runs,
            target=f"{sign} {limit * 1e-9:g}",
            holds=value is not None
            and found.failures == 0
            and (value <= limit if sign == "<=" else value < limit),
            note=note,
        )
        for name, value, limit, sign in limits
    ]
    outside = Figure(
        name="sync.outside_bound",
        value=float(found.outside_bound),
        unit="count",
        n=found.runs,
        target="== 0",
        holds=found.outside_bound == 0 and found.runs > 0,
    )
    return [*figures, outside, *(_peer(n, e, found) for n, e in peers.items())]


def _peer(name: str, errors: PeerErrors, ours: Sync) -> Figure:
    """Compare our error with the median of the absolute offsets that the peer itself reports."""
    sizes = sorted(abs(offset) for offset in errors.offsets_ns)
    value = ours.median_error_ns
    if not sizes or value is None:
        why = errors.problem or "no offsets to compare"
        return Figure(name=f"sync.beside_{name}", value=None, unit="s", n=0, note=why)
    theirs = median(sizes)
    p99 = sizes[int((len(sizes) - 1) * 0.99)]
    return Figure(
        name=f"sync.beside_{name}",
        value=value * 1e-9,
        unit="s",
        n=len(sizes),
        peer=name,
        peer_value=theirs * 1e-9,
        ratio=theirs / value if value > 0 else None,
        note=f"median |error|; {name} reports {theirs:.0f} ns, 99 % {p99:.0f} ns, over n "
        "measurements; theirs over ours, more is better",
    )


def no_sync(why: str) -> list[Figure]:
    """Return figures without a value, because no synchronisation could be measured."""
    targets = {
        "median_error": f"<= {MEDIAN_ERROR_NS * 1e-9:g}",
        "p99_error": f"<= {P99_ERROR_NS * 1e-9:g}",
        "median_duration": f"< {MEDIAN_TOOK_NS * 1e-9:g}",
    }
    return [
        Figure(name=f"sync.{name}", value=None, unit="s", n=0, target=target, note=why)
        for name, target in targets.items()
    ]


def bound(found: Sequence[Bound], seconds: int) -> list[Figure]:
    """Judge clocks with injected rates by their own bounds, and the rate found without one."""
    checks = sum(line.checks for line in found)
    outside = sum(line.outside for line in found)
    rates = sorted({line.injected_ppm for line in found})
    worst = max((line.worst_part_of_bound for line in found), default=0.0)
    invented = [abs(line.rate_ppm) for line in found if line.injected_ppm == 0]
    inside = Figure(
        name="bound.outside",
        value=float(outside) if checks else None,
        unit="count",
        n=checks,
        target="== 0",
        holds=outside == 0 and checks > 0,
        note=f"{len(found)} clocks, {seconds} s, {', '.join(f'{r:+g}' for r in rates)} ppm, even "
        f"and uneven paths; at worst {100 * worst:.0f} % of the bound was used",
    )
    return [
        inside,
        Figure(
            name="bound.invented_rate",
            value=max(invented) if invented else None,
            unit="ppm",
            n=len(invented),
            target=f"< {INVENTED_PPM:g}",
            holds=bool(invented) and max(invented) < INVENTED_PPM,
            note="the clocks without an injected rate",
        ),
    ]


def _interval(values: Sequence[float]) -> tuple[float, float] | None:
    found = median_interval(values)
    return None if found is None else (found.low, found.high)
