"""Simulate the elastic video service: blocked clients, cost, and which setting is better.

The Front of the real service runs on simulated time. `--allocation` is the latency: a mean, a mean
and standard deviation, or a file with one measured latency in seconds per line. `--arrivals` is
poisson, constant, step, ramp, diurnal, flash-crowd, or a file with one arrival time in seconds per
line. `--dask` distributes the runs over a cluster, with the same results as in one process.
`--published` simulates the ten rows of Dutra 2015, Table 5.8, from its Table 5.5. `--picture` draws
clients and instances over time of the runs that block fewest and most (its Figures 5.13 to 5.23).

`--allocation` is the latency of an allocation that is alone. With `--store`, `--scheduler` or
`--hosts`, allocations under way delay one another: the scheduler serves one request at a time, all
images are copied over one link, and a host carries out `--at-once` allocations (default: 1). With
`--racks` each rack has a link of its own, and `--placement` says which one gets an allocation. With
`--hibernate-after`, hosts without an instance sleep, and an allocation that needs one wakes it.

examples:
  aferir elastic simulate --allocation 40.7,1.4 --vary patience=20,30,40,50
  aferir elastic simulate --allocation measured.txt --clients 400 --vary warm=0,1,2
  aferir elastic simulate --allocation 40.7,1.4 --waiting each --hosts 8 --vary store=0,0.3,0.6
  aferir elastic simulate --hosts 8 --store 0.6 --store-link 4 --rack-link 1 --vary racks=1,2,4
  aferir elastic simulate --hosts 8 --watts 285,12 --vary hibernate-after=0,300,inf
  aferir elastic simulate --runs 1000 --vary patience=20,30,40 --dask tcp://127.0.0.1:8786
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aferir.elastic.verbs import setting, sleeping
from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.elastic.sweep import Job, Latency, Outcome

NAME = "simulate"
HELP = "the service on simulated time, or the published results"

_VARIED = (
    "patience",
    "clients-per-node",
    "warm",
    "release-delay",
    "quota",
    "interarrival",
    "allocation",
    "hosts",
    "at-once",
    "store",
    "scheduler",
    "store-link",
    "racks",
    "rack-link",
    "placement",
    *sleeping.VARIED,
)
_COUNTS = ("warm", "quota", "clients-per-node", "hosts", "at-once", "racks", *sleeping.COUNTS)
_WORDS = ("allocation", "placement")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir elastic simulate`."""
    add = parser.add_argument
    add("--published", action="store_true", help="simulate the ten rows of Dutra 2015, Table 5.8")
    setting.add_options(parser)
    sleeping.add_options(parser)
    add("--vary", metavar="NAME=A,B,…", help=f"simulate each value of one of {', '.join(_VARIED)}")
    add(
        "--runs",
        type=int,
        default=10,
        metavar="N",
        help="number of runs of each setting (default: 10)",
    )
    add("--dask", metavar="ADDRESS", help="simulate on the workers of this scheduler of Dask")
    add("--seed", type=int, default=1, help="seed of all random numbers (default: 1)")
    add("--picture", type=Path, metavar="FILE", help="draw the best and worst run: .svg or .html")
    add("--json", action="store_true", help="print one JSON document")


def execute(options: argparse.Namespace) -> int:
    """Simulate and print the results."""
    if options.seed < 0:
        raise UsageError("--seed: not negative", remedy="e.g. --seed 1")
    if options.picture is not None:
        from aferir.report.write.picture import check_picture_path

        check_picture_path(options.picture)
    if options.published:
        from aferir.elastic.verbs import published

        return published.show(options)
    if options.runs < 1:
        raise UsageError("--runs: at least one", remedy="e.g. --runs 10")
    watts = _pair("--watts", options.watts) if options.watts else None
    levels = _levels(options.vary)
    jobs = [job for level in levels for job in _jobs(options, level)]
    found = _run(options.dask, jobs)
    rows = [
        _row(level, found[k * options.runs : (k + 1) * options.runs], watts)
        for k, level in enumerate(levels)
    ]
    if options.picture is not None:
        _draw(options, levels, jobs, found)
    _show(options, rows)
    return 0


def _draw(
    options: argparse.Namespace,
    levels: list[tuple[str, str]],
    jobs: list[Job],
    found: list[Outcome],
) -> None:
    """Draw the best and the worst run of each level."""
    from aferir.elastic.sweep import course_of
    from aferir.elastic.verbs.courses import Course, draw

    courses = []
    for place, (name, level) in enumerate(levels):
        first = place * options.runs
        blocked = [run.blocked_percent for run in found[first : first + options.runs]]
        setting = f"{name} {level}, " if name else ""
        for which, value in (("best", min(blocked)), ("worst", max(blocked))):
            job = jobs[first + blocked.index(value)]
            run = course_of(job)
            label = f"{setting}{which} of {options.runs} runs"
            courses.append(Course(label, run.books, run.trace, job.settings.clients_per_node))
    draw(options.picture, "The elastic service, simulated", courses)


def _run(address: str | None, jobs: list[Job]) -> list[Outcome]:
    """Run the jobs here, or on the cluster of `--dask`."""
    from aferir.elastic.spread import run_on
    from aferir.elastic.sweep import run_here

    return run_here(jobs) if address is None else run_on(address, jobs)


def _levels(vary: str | None) -> list[tuple[str, str]]:
    if vary is None:
        return [("", "")]
    from aferir.model.words import choose

    name, _, values = vary.partition("=")
    if name not in _VARIED:
        told = f"--vary {vary}: there is no setting `{name}`"
        raise UsageError(told, remedy=choose(name, _VARIED))
    if not values:
        raise UsageError(f"--vary {vary}: has no values", remedy=f"e.g. --vary {name}=1,2,3")
    separator = ";" if name == "allocation" else ","
    return [(name, value) for value in values.split(separator)]


def _jobs(options: argparse.Namespace, level: tuple[str, str]) -> list[Job]:
    """All runs of one level of the varied setting."""
    from aferir.elastic.arrivals import SHAPES, read_trace
    from aferir.elastic.contention import Contention
    from aferir.elastic.front import Settings
    from aferir.elastic.simulate import Load
    from aferir.elastic.sweep import Job

    given = {**vars(options), **_varied(options, level)}
    trace = None if given["arrivals"] in SHAPES else read_trace(Path(given["arrivals"]))
    window, horizon = _pair("--predict", given["predict"]) if given["predict"] else (0.0, 0.0)
    try:
        settings = Settings(
            clients_per_node=given["clients_per_node"],
            patience_s=given["patience"],
            choice=given["choice"],
            waiting=given["waiting"],
            warm_nodes=given["warm"],
            release_delay_s=given["release_delay"],
            predictor_window_s=window,
            predictor_horizon_s=horizon,
            most_nodes=given["quota"],
        )
        load = Load(
            clients=given["clients"],
            interarrival_s=given["interarrival"],
            video_s=given["video"],
            shape=given["arrivals"] if trace is None else "poisson",
        )
        shared = Contention(
            hosts=given["hosts"],
            at_once=given["at_once"],
            scheduler_share=given["scheduler"],
            store_share=given["store"],
            store_link=given["store_link"],
            racks=given["racks"],
            rack_link=given["rack_link"],
            placement=given["placement"],
        )
        hibernation = sleeping.read(given)
    except ValueError as error:
        raise UsageError(str(error), remedy="see aferir elastic simulate --help") from None
    latency = _latency(str(given["allocation"]))
    times = None if trace is None else tuple(trace.tolist())
    return [
        Job(
            settings=settings,
            load=load,
            latency=latency,
            seed=(options.seed, run),
            trace_s=times,
            shared=shared,
            hibernation=hibernation,
        )
        for run in range(options.runs)
    ]


def _varied(options: argparse.Namespace, level: tuple[str, str]) -> Mapping[str, Any]:
    name, text = level
    if not name:
        return {}
    if name in _WORDS:
        return {name: text}
    kind: type[int | float] = int if name in _COUNTS else float
    try:
        return {name.replace("-", "_"): kind(text)}
    except ValueError:
        raise UsageError(f"--vary {options.vary}: {text} is no number") from None


def _pair(option: str, text: str) -> tuple[float, float]:
    try:
        first, second = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{option} {text}: not two numbers", remedy="e.g. 60,40") from None
    return first, second


def _latency(text: str) -> Latency:
    """Distribution of latencies, from its parameters or from a file of measured ones."""
    from aferir.elastic.sweep import Latency

    parts = text.split(",")
    try:
        mean_s, sd_s = float(parts[0]), float(parts[1]) if len(parts) > 1 else 0.0
    except ValueError:
        return Latency(measured_s=tuple(_measured(Path(text))))
    if not (0 < mean_s < math.inf and 0 <= sd_s < math.inf):
        raise UsageError(f"--allocation {text}: no latency", remedy="e.g. 40.7 or 40.7,1.4")
    return Latency(mean_s=mean_s, sd_s=sd_s)


def _measured(path: Path) -> list[float]:
    try:
        values = [float(line) for line in path.read_text("utf-8").split()]
    except OSError as error:
        raise UsageError(
            f"--allocation {path}: neither numbers nor a file: {error.strerror}",
            remedy="mean, mean,sd, or a file with one latency in seconds on each line",
        ) from None
    except ValueError:
        values = []
    if not values or not all(0 < value < math.inf for value in values):
        raise UsageError(
            f"--allocation {path}: it has to hold latencies above 0, one on each line",
            remedy="seconds, nothing else",
        )
    return values


def _row(
    level: tuple[str, str], runs: list[Outcome], watts: tuple[float, float] | None
) -> dict[str, Any]:
    from statistics import mean

    blocked = [run.books.blocked for run in runs]
    followed = [run.followed for run in runs]
    return {
        **({level[0]: level[1]} if level[0] else {}),
        "runs": len(runs),
        "requests": mean(run.books.received for run in runs),
        "blocked_percent": mean(run.blocked_percent for run in runs),
        "blocked_best": min(blocked),
        "blocked_worst": max(blocked),
        "failed": mean(run.books.failed for run in runs),
        "allocations": mean(run.allocations for run in runs),
        "most_nodes": max(run.most_nodes for run in runs),
        "node_hours": mean(one.node_seconds for one in followed) / 3600,
        "under_timeshare": mean(one.under_timeshare for one in followed),
        "over_timeshare": mean(one.over_timeshare for one in followed),
        "under_accuracy": mean(one.under_accuracy for one in followed),
        "over_accuracy": mean(one.over_accuracy for one in followed),
        "jitter_hz": mean(one.jitter for one in followed),
        **sleeping.row([run.use for run in runs], watts),
    }


def _show(options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    if options.json:
        import msgspec

        document = {"seed": options.seed, "rows": rows}
        print(msgspec.json.format(msgspec.json.encode(document)).decode())
        return
    from aferir.cli.console import console
    from aferir.elastic.verbs.tables import table

    names = {
        "blocked_percent": "PcBl %",
        "blocked_best": "best",
        "blocked_worst": "worst",
        "allocations": "allocations",
        "most_nodes": "most Nodes",
        "node_hours": "Node hours",
        "under_timeshare": "time with too few",
        "over_timeshare": "with too many",
        **{key: name for key, name in sleeping.SHOWN.items() if key in rows[0]},
    }
    varied = [name for name in rows[0] if name in _VARIED]
    cells = [
        [str(row[name]) for name in varied] + [f"{row[name]:.4g}" for name in names] for row in rows
    ]
    console().print(table([*varied, *names.values()], cells))
