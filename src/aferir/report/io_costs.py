"""Costs of I/O from the samples of a run: cycles, energy, layers, a year's sum (Akram 2012).

An instance's own user and system time are separated from what else the host does; the remaining
time of the cores is idle, or waiting for I/O as the host's kernel reports it. For a virtual machine
the host accounts for the emulator as a whole, and the guest's kernel says which part its programs
and it used: the remainder is the cost of virtualisation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from aferir.model.plan import EnvironmentSpec, Plan, ServerSpec, environment_family
from aferir.model.record import Record, Sample, Side
from aferir.report.io_projections import projection
from aferir.report.model import EMULATED, IoCell, IoProjection, IoStudy
from aferir.statistics.io_cost import (
    CpuTime,
    IoCost,
    Server,
    Uncertain,
    io_cost,
    operations,
    system_share,
)

STATES = ("user", "system", "virtual", "idle", "iowait")
LAYERS = ("user", "os", "vm")
_PARTS = ("user", "system")
_Seen = Mapping[tuple[str, Side], float]
_CORES = "environment.cpus"
_DAYS = 365.0
_J_PER_KWH = 3.6e6


class IoRun(msgspec.Struct, frozen=True, kw_only=True):
    """Costs of I/O in one repetition."""

    operations: float
    """Number of operations of all tenants."""
    results: int
    """Number of results: each tenant's run of the program is one."""
    elapsed_s: float
    states_s: dict[str, float]
    """Time of all cores in s, by state (`STATES`)."""
    layers: dict[str, float]
    """Cycles of an operation by layer (`LAYERS`); their sum is `cpio`, all cycles per operation."""
    cpio: Uncertain
    system_cpio: float
    eio_j: tuple[Uncertain, ...]
    """Energy of an operation in J, for each assumed idle power of the server."""

    @property
    def result_j(self) -> tuple[float, ...]:
        """Energy of one result (one run of a program) in J, by idle fraction."""
        return tuple(eio.value * self.operations / self.results for eio in self.eio_j)


def study(plan: Plan, records: Sequence[Record]) -> IoStudy | None:
    """Study of a run's costs of I/O; None without a server, or if nothing was accounted."""
    if plan.server is None:
        return None
    specs = {spec.name: spec for spec in plan.environments}
    good = [r for r in records if not r.warmup and r.failure is None and r.environment in specs]
    cells = []
    for cell in plan.cells:
        own = [record for record in good if record.cell == cell.id]
        found = [cost_of(record, specs[cell.environment], plan.server) for record in own]
        runs = [run for run in found if run is not None]
        if runs:
            emulated = any(w.code == EMULATED for record in own for w in record.warnings)
            cells.append(_mean(cell.id, cell.group, cell.environment, emulated, runs))
    if not cells:
        return None
    rates = _rates(plan, good)
    return IoStudy(
        server=plan.server,
        cells=tuple(
            msgspec.structs.replace(
                cell,
                year_kwh=tuple(
                    joules * rates[cell.group] * _DAYS / _J_PER_KWH for joules in cell.result_j
                ),
            )
            if cell.group in rates
            else cell
            for cell in cells
        ),
        results_per_day=rates,
        projections=_projections(plan, good),
    )


def with_costs(plan: Plan, records: Sequence[Record]) -> list[Record]:
    """Records with `cpio_cycles`, `system_cpio_cycles` and `eio_idle<percent>_j` added."""
    if plan.server is None:
        return list(records)
    specs = {spec.name: spec for spec in plan.environments}
    found = []
    for record in records:
        spec = specs.get(record.environment)
        run = cost_of(record, spec, plan.server) if spec is not None else None
        found.append(record if run is None else _with(record, run, plan.server))
    return found


def cost_of(record: Record, spec: EnvironmentSpec, server: ServerSpec) -> IoRun | None:
    """Costs of one repetition; None if it moved no data, or was not accounted."""
    seen: _Seen = {(s.metric, s.side): s.value for s in record.samples}
    count = operations(volume(seen, spec.tenants))
    frequency = _frequency(seen)
    layers_s = _layers(seen, spec)
    elapsed = seen.get(("elapsed_s", "environment"), 0.0)
    if layers_s is not None and ("timed_user_s", "program") in seen:
        layers_s = _timed(seen, layers_s, spec)
        elapsed = seen.get(("duration_s", "program"), 0.0)
    if count <= 0 or elapsed <= 0 or frequency is None or layers_s is None:
        return None
    cpu = _cpu_time(seen, layers_s, elapsed, server.cores)
    costs = [
        io_cost(cpu, _server(server, frequency, idle), count) for idle in server.idle_fractions
    ]
    known: list[IoCost] = [cost for cost in costs if cost is not None]
    hertz = frequency.value
    states = {
        "user": layers_s["user"],
        "system": layers_s["os"],
        "virtual": layers_s["vm"],
        "idle": cpu.idle_s.value,
        "iowait": cpu.iowait_s.value,
    }
    return IoRun(
        operations=count,
        results=spec.tenants,
        elapsed_s=elapsed,
        states_s=states,
        layers={layer: seconds * hertz / count for layer, seconds in layers_s.items()},
        cpio=known[0].cpio,
        system_cpio=known[0].system_cycles.value,
        eio_j=tuple(cost.eio_j for cost in known),
    )


def volume(seen: _Seen, tenants: int = 1) -> float:
    """Volume in bytes, as the program reports it, or else as its system calls moved it."""
    if ("io_volume_bytes", "program") in seen:
        return seen["io_volume_bytes", "program"] * tenants
    sides: tuple[Side, ...] = ("instance", "host")
    for side in sides:
        parts = [seen.get((f"program_{way}_bytes", side)) for way in ("read", "write")]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts):
            return sum(known)
    return 0.0


def _layers(seen: _Seen, spec: EnvironmentSpec) -> dict[str, float] | None:
    """Busy time in s of all tenants by layer; None if it was not accounted."""
    user, system = (seen.get((f"instance_{part}_s", "host")) for part in _PARTS)
    if user is None or system is None:
        return None
    if not _in_guest(seen):
        looked = [seen.get((f"looked_{part}_s", "host"), 0.0) for part in _PARTS]
        told = system_share(
            (user, system), (looked[0], looked[1]), seen.get(("looks", "host"), 0.0)
        )
        share = told.value if told is not None else 0.0
        total = (user + system) * spec.tenants
        return {"user": total * (1 - share), "os": total * share, "vm": 0.0}
    total = user + system + seen.get(("instance_guest_s", "host"), 0.0)
    beside, inside = _beside_guest(seen), [part * _believed(seen) for part in _claimed(seen)]
    same = total / sum(beside) if sum(beside) > 0 else 0.0
    layers = {"user": inside[0] * same, "os": inside[1] * same}
    return {**layers, "vm": total - sum(layers.values())}


def _in_guest(seen: _Seen) -> bool:
    """True if the program had its own kernel: it or its emulator was accounted separately."""
    return ("guest_user_s", "instance") in seen or ("instance_guest_s", "host") in seen


def _claimed(seen: _Seen) -> list[float]:
    """User and system time in s of all guests, as reported by their own kernels."""
    return [seen.get((f"guest_{part}_s", "instance"), 0.0) for part in _PARTS]


def _beside_guest(seen: _Seen) -> tuple[float, float]:
    """CPU time in s that the host accounts to the guests' processors, and to their emulators."""
    side: Side = "instance" if ("instance_user_s", "instance") in seen else "host"
    guest, *rest = (seen.get((f"instance_{part}_s", side), 0.0) for part in ("guest", *_PARTS))
    return (guest, sum(rest)) if guest > 0 else (sum(rest), 0.0)


def _believed(seen: _Seen) -> float:
    """Factor, at most 1, that reduces a guest's own account, which includes steal, to CPU time."""
    claimed = sum(_claimed(seen))
    return min(1.0, _beside_guest(seen)[0] / claimed) if claimed > 0 else 1.0


def _timed(seen: _Seen, whole: Mapping[str, float], spec: EnvironmentSpec) -> dict[str, float]:
    """Busy time in s by layer within the region that the program timed, from the program's account.

    The cost of virtualisation is proportional to the guest's own time in the whole run (`whole`),
    of which the region is a part. A guest whose ticks the host delayed reports more time than there
    was: it is scaled down.
    """
    share = spec.tenants * (_believed(seen) if _in_guest(seen) else 1.0)
    parts = [seen.get((f"timed_{part}_s", "program"), 0.0) * share for part in _PARTS]
    guest = whole["user"] + whole["os"]
    if _in_guest(seen) and sum(parts) > guest:
        parts = [part * guest / sum(parts) for part in parts]
    user, system = parts
    return {
        "user": user,
        "os": system,
        "vm": whole["vm"] * (user + system) / guest if guest > 0 else 0.0,
    }


def _cpu_time(seen: _Seen, layers: Mapping[str, float], elapsed: float, cores: int) -> CpuTime:
    """Time of all cores: what the instance did not use is idle, or waiting for I/O."""
    total = elapsed * cores
    busy = sum(layers.values())
    waiting = seen.get(("cpu_iowait_percent", "host"), 0.0) / 100 * total
    iowait = min(waiting, max(0.0, total - busy))
    return CpuTime(
        user_s=Uncertain(layers["user"]),
        system_s=Uncertain(busy - layers["user"]),
        idle_s=Uncertain(max(0.0, total - busy - iowait)),
        iowait_s=Uncertain(iowait),
    )


def _frequency(seen: _Seen) -> Uncertain | None:
    """Frequency from measurements before, after and, if available, during the run.

    Half of their range is the uncertainty.
    """
    names = ("before", "after", "during")
    found = [seen.get((f"core_frequency_{name}_hz", "host")) for name in names]
    known = [hertz for hertz in found if hertz is not None]
    if not known:
        return None
    middle = found[2] if found[2] is not None else sum(known) / len(known)
    return Uncertain(middle, (max(known) - min(known)) / 2)


def _server(spec: ServerSpec, frequency: Uncertain, idle: float) -> Server:
    return Server(
        cores=spec.cores,
        frequency_hz=frequency,
        peak_w=Uncertain(spec.peak_w, spec.peak_error_w),
        idle_fraction=idle,
    )


def _mean(
    cell: str,
    group: str,
    environment: str,
    emulated: bool,
    runs: Sequence[IoRun],
) -> IoCell:
    totals = {state: sum(run.states_s[state] for run in runs) for state in STATES}
    whole = sum(totals.values())
    return IoCell(
        cell=cell,
        group=group,
        environment=environment,
        emulated=emulated,
        n=len(runs),
        operations=float(np.mean([run.operations for run in runs])),
        states_percent={state: 100 * value / whole for state, value in totals.items()},
        layers={layer: float(np.mean([run.layers[layer] for run in runs])) for layer in LAYERS},
        cpio=_averaged([run.cpio for run in runs]),
        eio_j=tuple(_averaged(list(same)) for same in zip(*(r.eio_j for r in runs), strict=True)),
        result_j=tuple(
            float(np.mean(same)) for same in zip(*(r.result_j for r in runs), strict=True)
        ),
    )


def _averaged(values: Sequence[Uncertain]) -> Uncertain:
    """Mean; its uncertainty combines the scatter of the values with their own uncertainties."""
    means = [value.value for value in values]
    scatter = float(np.std(means, ddof=1) / np.sqrt(len(means))) if len(means) > 1 else 0.0
    own = float(np.mean([value.error for value in values]))
    return Uncertain(float(np.mean(means)), float(np.hypot(own, scatter)))


def _rates(plan: Plan, records: Sequence[Record]) -> dict[str, float]:
    """Results per day by group: the server's setting, else as many as the baseline completes.

    The time of a result is that of the region that the program timed, as it is for the energy of a
    result.
    """
    assert plan.server is not None
    specs = {spec.name: spec for spec in plan.environments}
    found: dict[str, float] = {}
    for cell in plan.cells:
        if plan.server.results_per_day is not None:
            found[cell.group] = plan.server.results_per_day
        elif environment_family(cell.environment) == plan.baseline:
            spec = specs[cell.environment]
            own = [cost_of(r, spec, plan.server) for r in records if r.cell == cell.id]
            took = [run.elapsed_s for run in own if run is not None]
            if took:
                found[cell.group] = 86400.0 * spec.tenants / float(np.median(took))
    return found


def _projections(plan: Plan, records: Sequence[Record]) -> tuple[IoProjection, ...]:
    """Projections of system cycles per I/O operation to more cores.

    There is one for each workload and environment measured with several numbers of cores.
    """
    assert plan.server is not None
    specs = {spec.name: spec for spec in plan.environments}
    costs: dict[tuple[str, str], dict[int, list[float]]] = {}
    for record in records:
        spec = specs[record.environment]
        run = cost_of(record, spec, plan.server)
        if run is not None and _CORES in record.factors:
            key = (record.workload, environment_family(record.environment))
            costs.setdefault(key, {}).setdefault(spec.cpus, []).append(run.system_cpio)
    return tuple(
        projection(workload, environment, by_cores)
        for (workload, environment), by_cores in costs.items()
        if len(by_cores) > 1
    )


def _with(record: Record, run: IoRun, server: ServerSpec) -> Record:
    added = [
        Sample("cpio_cycles", run.cpio.value, "cycles"),
        Sample("system_cpio_cycles", run.system_cpio, "cycles"),
    ]
    added += [
        Sample(f"eio_idle{round(100 * idle)}_j", eio.value, "J")
        for idle, eio in zip(server.idle_fractions, run.eio_j, strict=True)
    ]
    return msgspec.structs.replace(record, samples=(*record.samples, *added))
