"""Measure ElasticMovie's parts: the simulation, and the viewers beside the server they watch."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from statistics import mean, median

from aferir.elastic.node import Node, native_node
from aferir.elastic.video import SENT_BPS, VIDEO_BPS, Video, make
from aferir.errors import AferirError, MissingError, ProgramError
from aferir.installed import installed
from aferir.linux import process
from aferir.model.bench import BenchResult, Figure
from aferir.programs.kernels import kernel_path, read_figures
from aferir.selftest.options import BenchOptions, Note
from benchmarks.elastic import contexts, hosts

HELP = "elastic: a million simulated clients, published results, thousands of viewers, real hosts"
PEERS = ()

_CLIENTS = 1_000_000
_SIMULATED_S = 10.0
_STREAMS, _QUICK_STREAMS = 8000, 500
_WATCH_S, _QUICK_WATCH_S = 60, 20
_RAMP_S = 8.0
_STARTUP_S = 2.0
_INSIDE = 8
"""Least number of ten published rows whose range must contain the simulated mean."""
_TICKS = os.sysconf("SC_CLK_TCK")


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Run one part after the other."""
    figures = [
        _million(options, note),
        *_published(options, note),
        *_viewers(options, note),
        *hosts.figures(options, note),
        *contexts.figures(options, note),
    ]
    return BenchResult(bench="elastic", quick=options.quick, figures=tuple(figures))


def _million(options: BenchOptions, note: Note) -> Figure:
    import numpy as np  # noqa: PLC0415 - `aferir --help` does without

    from aferir.elastic.front import Settings  # noqa: PLC0415
    from aferir.elastic.simulate import Load, gamma, simulate  # noqa: PLC0415

    times = []
    for k in range(1 if options.quick else 3):
        note("a million simulated clients", 0.05 * k)
        rng = np.random.default_rng(options.seed)
        started = time.process_time()
        result = simulate(
            Settings(clients_per_node=100, patience_s=60.0),
            Load(clients=_CLIENTS, interarrival_s=0.05, video_s=1800.0),
            rng,
            gamma(40.7, 1.4, rng),
        )
        times.append(time.process_time() - started)
        if not result.accounted:
            raise ProgramError("the simulation lost clients from its books")
    return Figure(
        name="simulate.million_clients",
        value=median(times),
        unit="s",
        n=len(times),
        target=f"< {_SIMULATED_S:g}",
        holds=median(times) < _SIMULATED_S,
        note="CPU time of one core; 20 arrivals a second, 36,000 clients at once",
    )


def _published(options: BenchOptions, note: Note) -> list[Figure]:
    from aferir.elastic.published import fit, read, reproduce  # noqa: PLC0415

    folder = installed("reference")
    if folder is None:
        raise MissingError("the published results are not installed", remedy="make run")
    cells = read(folder)
    note("fitting two rows", 0.1)
    fits = fit(cells, options.seed)
    rows = []
    for place, cell in enumerate(cells):
        note("published results", 0.15 + 0.01 * place)
        rows.append(reproduce(cell, fits, options.seed))
    inside = sum(bool(row.inside) for row in rows)
    return [
        *(
            Figure(
                name=f"published.{row.cell.iaas}-{row.cell.hypervisor}-{row.cell.patience_s:g}s-"
                f"{row.cell.load.clients}",
                value=row.blocked_percent,
                unit="%",
                n=len(row.blocked),
                peer="Dutra 2015, Table 5.8",
                peer_value=row.cell.blocked_percent,
                note=f"PcBl; {mean(row.blocked):.1f} blocked, {row.cell.blocked_best} to "
                f"{row.cell.blocked_worst} published{', fitted' if row.fitted else ''}",
            )
            for row in rows
        ),
        Figure(
            name="published.inside",
            value=inside,
            unit="rows",
            n=len(rows),
            target=f">= {_INSIDE}",
            holds=inside >= _INSIDE,
            note="rows whose mean lies between the best and the worst published run",
        ),
    ]


def _viewers(options: BenchOptions, note: Note) -> list[Figure]:
    streams = _QUICK_STREAMS if options.quick else _STREAMS
    watch_s = _QUICK_WATCH_S if options.quick else _WATCH_S
    note(f"{streams} viewers, {watch_s + _RAMP_S:g} s", 0.3)
    try:
        program = kernel_path("video-clients")
        with tempfile.TemporaryDirectory(prefix="aferir-video-") as name:
            Path(name).chmod(0o755)
            with native_node(make(Video(seconds=watch_s), Path(name))) as node:
                return _judge(*_watched(program, node, streams, watch_s), streams)
    except AferirError as error:
        return [Figure(name="viewers.streams", value=None, unit="streams", n=0, note=error.message)]


def _watched(
    program: Path, node: Node, streams: int, watch_s: int
) -> tuple[dict[str, object], float]:
    """Return what the viewers measured, and the CPU time that NGINX's worker took to serve them."""
    before = _cpu_s(node.pid)
    done = process.run(
        [
            str(program),
            *("--url", node.url, "--bitrate", str(VIDEO_BPS), "--startup", str(_STARTUP_S)),
            *("--clients", str(streams), "--interval", str(_RAMP_S / streams)),
        ],
        timeout_s=20 * watch_s,
    )
    return read_figures(done.stdout, "video-clients"), _cpu_s(node.pid) - before


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _judge(found: dict[str, object], server_cpu_s: float, streams: int) -> list[Figure]:
    def number(key: str) -> float:
        value = found[key]
        assert isinstance(value, int | float)
        return float(value)

    by_second = found["bytes_by_second"]
    assert isinstance(by_second, list)
    steady = [8 * float(b) for b in by_second[int(_RAMP_S) + 2 : -int(_RAMP_S) - 2]]
    own = number("own_violations")
    return [
        Figure(
            name="viewers.own_violations",
            value=own,
            unit="violations",
            n=streams,
            target="= 0",
            holds=own == 0 and number("served") == streams,
            note=f"{number('served'):g} of {streams} served; worst turn "
            f"{1e3 * number('worst_turn_s'):.1f} ms",
        ),
        Figure(
            name="viewers.violations",
            value=number("violations"),
            unit="violations",
            n=streams,
            note=f"of the server; start-up buffer {_STARTUP_S:g} s, median start-up "
            f"{number('startup_median_s'):.2f} s",
        ),
        Figure(
            name="viewers.goodput",
            value=mean(steady) if steady else None,
            unit="bit/s",
            n=len(steady),
            note=f"of at most {streams * SENT_BPS / 1e9:.1f} Gbit/s while all are there",
        ),
        Figure(
            name="viewers.cpu",
            value=number("cpu_s"),
            unit="s",
            n=1,
            target="<= NGINX's",
            holds=number("cpu_s") <= server_cpu_s,
            peer="NGINX, serving them",
            peer_value=server_cpu_s,
            ratio=server_cpu_s / number("cpu_s"),
        ),
    ]
