"""A made-up run for each published table, with figures for all rows that can have one."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from aferir.environments.native import NativeSpec
from aferir.model.plan import EnvironmentSpec, ServerSpec
from aferir.model.record import Series
from aferir.report.model import AllocationResult, Evaluation, IoProjection, IoStudy
from aferir.statistics.scaling import Projection, Scaling
from aferir.statistics.summary import summarise
from tests.unit.report.published.made_clusters import clusters, concurrent, distributions
from tests.unit.report.published.runs import (
    Made,
    container,
    cost,
    evaluated,
    guest,
    native,
    with_costs,
)

CLOUD = EnvironmentSpec(name="cloud", kind="cloud", cpus=2, memory_bytes=2**31)


def streams() -> Evaluation:
    cells = [
        Made(
            spec=native(),
            program="elastic-capacity",
            parameters={"rate_mbit": 1000.0, "technology": technology},
            factors={"instances": instances},
            samples={"streams": 160.0},
            workload=technology,
        )
        for technology in ("container", "vm")
        for instances in (0, 1, 2, 4, 8, 320)
    ]
    return evaluated(*cells)


def allocations() -> Evaluation:
    """An allocation by a program, and one of an environment of the run."""
    of_program = Made(
        spec=native(),
        program="elastic-allocation",
        parameters={"technology": "vm"},
        samples={"tar_s": 5.0},
    )
    own = AllocationResult(
        environment="vm",
        kind="vm",
        emulated=False,
        phases=(),
        total=summarise([9.0, 10.0, 11.0]),
        release=summarise([1.0]),
        failures=(),
        warnings=(),
    )
    return msgspec.structs.replace(evaluated(of_program), allocations=(own,))


def movie(clients: int = 200, spec: EnvironmentSpec | None = None) -> Evaluation:
    """Two loads at a 120th of the published times, with both patiences."""
    cells = [
        Made(
            spec=spec or native(),
            program="elastic-movie",
            parameters={"clients": n, "video": 15.0, "interarrival": 1 / 12 * 200 / n},
            factors={"patience": patience},
            samples={"blocked_percent": 4.1, "clients_per_node": 100.0},
            workload=str(n),
        )
        for n in (clients, 2 * clients)
        for patience in (0.5, 1.0)
    ]
    return evaluated(*cells, baseline="native" if spec is None else spec.name)


def read_costs() -> Evaluation:
    costs = Series(
        metric="added_to_loop_s",
        unit="s",
        values=(257e-9, 575e-9, 42e-9),
        along="clock",
        at=("rdtsc", "CLOCK_MONOTONIC", "rvec process"),
    )
    return evaluated(
        Made(spec=native(), program="clock", parameters={"study": "cost"}, series=(costs,))
    )


def loops() -> Evaluation:
    at = (1e4, 1e5, 1e6)
    series = tuple(
        Series(metric=metric, unit="s", values=values, along="additions", at=at, label=label)
        for metric, label, values in (
            ("loop_s", "rvec within CLOCK_MONOTONIC_RAW", (3e-6, 3e-5, 3e-4)),
            ("loop_s", "CLOCK_MONOTONIC_RAW", (4e-6, 3.1e-5, 3.01e-4)),
            ("loop_difference_s", "CLOCK_MONOTONIC_RAW", (5e-8, 5e-8, 5e-8)),
        )
    )
    return evaluated(
        Made(spec=native(), program="clock", parameters={"study": "stability"}, series=series)
    )


def corrections() -> Evaluation:
    cells = [
        Made(
            spec=native(),
            program="clock",
            parameters={"study": "ntp"},
            factors={"interval_s": interval},
            samples={"correction_mean_s": 1e-3},
        )
        for interval in (0.0, 10.0, 600.0)
    ]
    return evaluated(*cells)


def mpi_clock() -> Evaluation:
    cells = [
        Made(
            spec=native(),
            program="mpi-clock",
            factors={"processes": n},
            samples={"sync_s": 1e-4, "exchanges": 15.0},
        )
        for n in (8, 32)
    ]
    return evaluated(*cells)


def ocean(scale: int = 1) -> Evaluation:
    cells = [
        Made(
            spec=native(),
            program="ocean",
            parameters={"scale": scale},
            factors={"processes": n},
            samples={"duration_s": 500.0, "ntp_like_difference_s": 5.0},
        )
        for n in (4, 8, 12, 16, 24, 36, 48)
    ]
    return evaluated(*cells)


def links(method: str = "balance-rr") -> Evaluation:
    """NPB and a sweep over 1 to 4 links, and containers beside guests with 1 and 2 tenants."""
    times = {1: 100.0, 2: 80.0, 3: 64.0, 4: 50.0}
    npb = [
        Made(
            spec=native(),
            program="npb-mpi",
            parameters={
                "kernel": kernel,
                "class": "C",
                "processes": 16,
                "rate_mbit": 1000,
                "method": method,
                "ranks_in": "containers",
            },
            factors={"links": n},
            samples={"duration_s": times[n]},
            workload=kernel,
        )
        for kernel in ("ft", "is")
        for n in times
    ]
    sweeps = [
        Made(
            spec=native(),
            program="net-sweep",
            parameters={
                "mode": "bidirectional",
                "rate_mbit": 1000,
                "method": method,
                "ranks_in": "containers",
            },
            factors={"links": n},
            samples={"most_throughput_bps": n * 2e8},
            series=(_sweep(n * 1.5e8),),
            workload="sweep",
        )
        for n in times
    ]
    tenants = [
        Made(
            spec=spec,
            program="npb",
            parameters={"kernel": "ep"},
            factors={"environment.tenants": n},
            samples={"duration_s": seconds},
            workload="ep",
        )
        for n in (1, 2)
        for spec, seconds in (
            (native(f"native[tenants={n}]"), 1.0),
            (container(f"container[tenants={n}]", n), 1.05),
            (guest(f"vm[tenants={n}]", n), 1.5),
        )
    ]
    return evaluated(*npb, *sweeps, *tenants)


def _sweep(bytes_per_s: float) -> Series:
    return Series(
        metric="throughput_bps",
        unit="B/s",
        values=(bytes_per_s / 2, bytes_per_s),
        along="message_bytes",
        at=(1024.0, 30000.0),
    )


def colocated(batch: str = "xz") -> Evaluation:
    cells = [
        Made(
            spec=native(),
            program="colocation",
            parameters={"service": "elasticsearch", "batch": batch},
            factors={"load": load, "threads": threads},
            series=(_policies(),),
        )
        for load in (0.25, 0.5, 0.75)
        for threads in (1, 2, 4, 6)
    ]
    return evaluated(*cells)


def _policies() -> Series:
    """Latencies of two policies: a gain of 25 %."""
    return Series(
        metric="latency_p95_s",
        unit="s",
        values=(0.25, 0.2),
        along="policy",
        at=("default", "edfcoaloc"),
    )


def costs() -> Evaluation:
    """Every program of I/O on the host, with a slow disk, in one guest and in two."""
    programs = ("index", "hbase", "oltp", "checkpoint", "blast", "dedup")
    slow = NativeSpec(
        name="slow", cpus=2, memory_bytes=2**31, disk_bytes=2**31, disk_bps=50_000_000
    )
    arms = ((native(), 1.0), (slow, 1.5), (guest(), 2.0), (guest("two-vms", 2), 3.0))
    made = [
        (Made(spec=spec, program=program, workload=program), times)
        for program in programs
        for spec, times in arms
    ]
    study = IoStudy(
        server=ServerSpec(cores=2, peak_w=400.0, idle_fractions=(0.0, 0.7)),
        cells=tuple(cost(one, 1000.0 * times, joules=times) for one, times in made),
        results_per_day={},
        projections=(
            IoProjection(
                workload="index",
                environment="native",
                measured={1: 1.0, 2: 1.1, 4: 1.3},
                usl=None,
                linear=Projection(
                    cores=1000, law=Scaling(1.0, 0.1, 0.0), growth=100.0, low=80.0, high=120.0
                ),
            ),
        ),
    )
    return with_costs(evaluated(*(one for one, _ in made)), study)


def powers(source: str = "nut:ups") -> Evaluation:
    """Readings of a source of power, as server-power.toml takes them: busy, and idle."""
    return evaluated(
        *(
            Made(
                spec=native(),
                program="command",
                parameters={"command": f"aferir power watch {source} --seconds 10 {load}--json"},
                samples={"power_w": power_w, "cpu_used": used},
                workload=name,
            )
            for name, load, power_w, used in (
                ("busy", "--load ffmpeg ", 300.0, 0.97),
                ("idle", "", 110.0, 0.3),
            )
        )
    )


RUNS: Mapping[str, Evaluation] = {
    "vod_streams_per_host": streams(),
    "allocation_latency": allocations(),
    "vod_blocking": movie(),
    "clock_read_cost": read_costs(),
    "clock_gps_vs_tsc": loops(),
    "ntp_corrections": corrections(),
    "rgap_sync": mpi_clock(),
    "ocean_rgap_vs_ntp": ocean(),
    "nic_aggregation": links(),
    "coloc_gain": colocated(),
    "virtual_cluster": clusters(),
    "virtual_cluster_concurrency": concurrent(),
    "distribution_effect": distributions(),
    "io_energy": costs(),
    "server_power": powers(),
}
"""A run by the name of the table that it answers, on two processors."""
