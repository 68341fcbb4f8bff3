"""Measure one step of ElasticMovie on hosts that are simulated on this machine, or on a cloud.

`allocation` makes one instance and gives it back, `capacity` finds how many streams a host
sustains, `movie` is the service itself under a load. What the first two find is kept, and `movie`
takes its clients per Node from there; where nothing is known yet it measures the capacity first.
Simulated hosts need root. `--cloud FILE` takes instances of OpenStack, OpenNebula, CloudStack, EC2
or Eucalyptus instead, with credentials from where that cloud's own tools have them;
docs/guides/elastic.md says what is in the file. `--dask` lets the viewers of a movie on a cloud
come from the workers of a Dask cluster, each with its share of the same arrivals.

examples:
  aferir elastic measure allocation --cache cold
  aferir elastic measure capacity --instances 2 --rate-mbit 250
  aferir elastic measure movie --clients 200 --interarrival 0.1 --video 20 --patience 1 --live 8080
  aferir elastic measure allocation --cloud openstack.toml
  aferir elastic measure movie --cloud openstack.toml --clients-per-node 40 --clients 20000
    --interarrival 0.01 --dask tcp://10.0.0.2:8786 --front 10.0.0.1
"""

from __future__ import annotations

import argparse
import contextlib
import ipaddress
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from aferir.elastic.verbs.energy import meter_of, with_energy
from aferir.elastic.verbs.options import add_video, video_of
from aferir.errors import MissingError, UsageError

if TYPE_CHECKING:
    from aferir.clouds.simulated import Layout
    from aferir.elastic.front import Settings
    from aferir.elastic.movie import Show
    from aferir.elastic.spread import SpreadAudience
    from aferir.elastic.video import Video
    from aferir.model.cloud import Wanted
    from aferir.power.meter import Meter
    from aferir.programs.figures import Figures

NAME = "measure"
HELP = "one step of ElasticMovie, on simulated hosts or on a cloud"
_HOSTS, _PER_HOST = 2, 4
REPETITION = "AFERIR_REPETITION"
"""Number of the repetition, which the runner tells: each draws arrivals of its own."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir elastic measure`."""
    add = parser.add_argument
    add("step", choices=("allocation", "capacity", "movie"))
    add("--cloud", type=Path, metavar="FILE", help="whose instances; default: simulated hosts")
    hosts = parser.add_argument_group("hosts", "of a cloud: no more instances than on such hosts")
    add = hosts.add_argument
    add("--technology", choices=("container", "vm"), default="container", help="of instances")
    add("--hosts", type=int, metavar="N", help="default: 2; capacity: always 1")
    add("--per-host", type=int, metavar="N", help="instances a host takes (default: 4)")
    add("--rate-mbit", type=float, default=0.0, metavar="N", help="uplink of a host (default: any)")
    add("--cpu-quota", type=float, metavar="SHARE", help="of one CPU, for an instance")
    add("--cache", choices=("cold", "warm"), default="cold", help="whether hosts have the image")
    add_video(hosts)
    add("--power", metavar="SOURCE", help="of the hosts, e.g. nut:ups; see `aferir power watch`")
    add("--startup", type=float, default=1.0, metavar="S", help="buffer of a viewer (default: 1 s)")
    add = parser.add_argument_group("capacity").add_argument
    add("--instances", type=int, default=0, metavar="N", help="0: the host itself (default)")
    add("--resolution", type=float, default=0.05, metavar="SHARE", help="default: 0.05")
    add("--profile", action="store_true", help="CPU time by program and symbol, by perf")
    add = parser.add_argument_group("movie").add_argument
    add("--clients", type=int, default=50, metavar="N", help="in all (default: 50)")
    add("--interarrival", type=float, default=0.5, metavar="S", help="mean (default: 0.5 s)")
    add("--arrivals", default="poisson", metavar="SHAPE", help="see `aferir elastic simulate`")
    add("--patience", type=float, default=2.0, metavar="S", help="of a client (default: 2 s)")
    add("--clients-per-node", type=int, default=0, metavar="N", help="default: 0, as measured")
    add("--choice", choices=("most-loaded", "least-loaded"), default="most-loaded")
    add("--waiting", choices=("shared", "each"), default="shared", help="for one allocation")
    add("--warm", type=int, default=0, metavar="N", help="Nodes kept ready without clients")
    add("--release-delay", type=float, default=0.0, metavar="S", help="before an empty Node goes")
    add("--predict-window", type=float, default=0.0, metavar="S", help="of a linear predictor")
    add("--predict-horizon", type=float, default=0.0, metavar="S", help="of that predictor")
    add("--seed", type=int, default=1, help="of the arrivals (default: 1)")
    add("--dask", metavar="ADDRESS", help="viewers on the workers of this scheduler of Dask")
    add("--front", default="127.0.0.1", metavar="ADDRESS", help="of Front (default: 127.0.0.1)")
    add("--live", type=int, metavar="PORT", help="a page of what goes on, on 127.0.0.1")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")


def execute(options: argparse.Namespace) -> int:
    """Measure once and print the figures."""
    figures = _measure(options)
    if options.json:
        import msgspec

        print(msgspec.json.encode(figures).decode())
        return 0
    from aferir.report.formatting import metric_name, quantity

    for sample in figures.samples:
        print(f"{metric_name(sample.metric):32} {quantity(sample.value, sample.unit)}")
    for doubt in figures.doubts:
        print(f"{doubt.code}: {doubt.message}; {doubt.advice}")
    return 0


def _measure(options: argparse.Namespace) -> Figures:
    import msgspec

    from aferir.elastic.video import doubts

    _check(options)
    video = video_of(options)
    wanted = _wanted(options)
    # Its thread is born here, outside of the namespace that a step on simulated hosts happens in.
    with meter_of(options) as meter:
        if wanted is not None:
            return with_energy(_on_cloud(options, video, wanted, meter), meter.taken)
        step = _movie if options.step == "movie" else _on_hosts
        figures = with_energy(step(options, _layout(options), video, meter), meter.taken)
    return msgspec.structs.replace(figures, doubts=(*figures.doubts, *doubts(video)))


def _on_hosts(options: argparse.Namespace, layout: Layout, video: Video, meter: Meter) -> Figures:
    from aferir.elastic.allocation import allocate_once
    from aferir.elastic.capacity import measure
    from aferir.elastic.measured import keep_allocation, keep_streams
    from aferir.elastic.stage import stage

    with stage(layout, video, cache=options.cache, progress=_tell) as made, meter.counting():
        if options.step == "allocation":
            figures = allocate_once(made.cloud)
            seconds = next(one.value for one in figures.samples if one.metric == "tar_s")
            keep_allocation(layout, video, options.cache, seconds)
        else:
            figures = measure(
                made.cloud,
                video,
                made.path,
                instances=options.instances,
                startup_s=options.startup,
                resolution=options.resolution,
                profile_in=made.folder if options.profile else None,
            )
            keep_streams(layout, video, options.instances, figures.samples[0].value)
    return figures


def _wanted(options: argparse.Namespace) -> Wanted | None:
    """Of the file, or as the runner tells a program in a cloud."""
    import msgspec

    from aferir.clouds.providers import read_wanted
    from aferir.model.cloud import WANTED, Wanted

    if options.cloud is not None:
        return read_wanted(options.cloud)
    told = os.environ.get(WANTED)
    return None if told is None else msgspec.json.decode(told, type=Wanted)


def _on_cloud(options: argparse.Namespace, video: Video, wanted: Wanted, meter: Meter) -> Figures:
    """The two steps that need no host to look into."""
    import msgspec

    from aferir.clouds.providers import cloud
    from aferir.elastic.allocation import allocate_once
    from aferir.elastic.movie import play
    from aferir.linux import scratch

    if options.step == "capacity":
        raise UsageError(
            "--cloud: the capacity of a host is measured on simulated hosts, or inside a cloud",
            remedy="run `aferir elastic measure capacity` on a host of the cloud's kind",
        )
    made = cloud(wanted)
    for finding in made.check():
        if finding.status == "missing":
            raise MissingError(finding.message, remedy=finding.remedy)
    if options.step == "allocation":
        with meter.counting():
            return allocate_once(made)
    if not options.clients_per_node:
        raise UsageError(
            "--clients-per-node: nothing is known of the instances of a cloud",
            remedy="say how many viewers one of them serves",
        )
    with contextlib.ExitStack() as stack:
        live = stack.enter_context(_listening(options.live)) if options.live else None
        folder = stack.enter_context(scratch.folder())
        audience = stack.enter_context(_spread(options)) if options.dask else None
        show = _show(options, video, options.clients_per_node, _quota(options))
        show = msgspec.structs.replace(show, allocation_s=wanted.limit_s)
        with meter.counting():
            return play(show, made, folder, live=live, tell=_tell, audience=audience)


@contextlib.contextmanager
def _spread(options: argparse.Namespace) -> Iterator[SpreadAudience]:
    """Errors: UsageError where the workers do not reach Front, and those of `cluster`."""
    from aferir.elastic.spread import SpreadAudience, cluster

    with cluster(options.dask) as client:
        audience = SpreadAudience(client)
        audience.require_reach(options.front)
        yield audience


def _movie(options: argparse.Namespace, layout: Layout, video: Video, meter: Meter) -> Figures:
    from aferir.elastic.measured import load
    from aferir.elastic.movie import play
    from aferir.elastic.stage import clients_per_node, stage

    if options.dask is not None:
        raise UsageError(
            "--dask: nobody but this machine reaches the hosts that it simulates",
            remedy="take instances of a cloud, with --cloud FILE",
        )
    expected = load(layout, video).allocation_s.get(options.cache, ())
    # Born here, outside of the namespace that the rest happens in: the page is for this machine.
    with contextlib.ExitStack() as stack:
        live = stack.enter_context(_listening(options.live)) if options.live else None
        per_node = options.clients_per_node or clients_per_node(layout, video, _tell)
        show = _show(options, video, per_node, layout.hosts * layout.per_host, expected)
        made = stack.enter_context(stage(layout, video, cache=options.cache, progress=_tell))
        with meter.counting():
            return play(show, made.cloud, made.folder, live=live, tell=_tell)


def _show(
    options: argparse.Namespace,
    video: Video,
    per_node: int,
    most_nodes: int | None,
    expected_s: tuple[float, ...] = (),
) -> Show:
    from aferir.elastic.movie import Show
    from aferir.elastic.simulate import Load

    try:
        audience = Load(
            clients=options.clients,
            interarrival_s=options.interarrival,
            video_s=video.seconds,
            shape=options.arrivals,
        )
    except ValueError as error:
        raise UsageError(str(error), remedy="see aferir elastic measure --help") from None
    return Show(
        load=audience,
        policy=_policy(options, per_node, most_nodes),
        startup_s=options.startup,
        seed=(options.seed, int(os.environ.get(REPETITION, "0"))),
        bitrate_bps=video.bitrate_bps,
        front=options.front,
        expected_s=expected_s,
    )


def _policy(options: argparse.Namespace, clients_per_node: int, most_nodes: int | None) -> Settings:
    from aferir.elastic.front import Settings

    try:
        return Settings(
            clients_per_node=clients_per_node,
            patience_s=options.patience,
            choice=options.choice,
            waiting=options.waiting,
            warm_nodes=options.warm,
            release_delay_s=options.release_delay,
            predictor_window_s=options.predict_window,
            predictor_horizon_s=options.predict_horizon,
            most_nodes=most_nodes,
        )
    except ValueError as error:
        raise UsageError(str(error), remedy="see aferir elastic measure --help") from None


def _quota(options: argparse.Namespace) -> int | None:
    """A cloud has its own, unless it is to be less."""
    if options.hosts is None and options.per_host is None:
        return None
    hosts, per_host = _places(options)
    return hosts * per_host


def _places(options: argparse.Namespace) -> tuple[int, int]:
    hosts = _HOSTS if options.hosts is None else options.hosts
    return hosts, _PER_HOST if options.per_host is None else options.per_host


def _layout(options: argparse.Namespace) -> Layout:
    from aferir.clouds.simulated import Layout

    hosts, per_host = _places(options)
    alone = options.step == "capacity"
    try:
        return Layout(
            hosts=1 if alone else hosts,
            per_host=max(1, options.instances) if alone else per_host,
            rate_bps=options.rate_mbit * 1e6,
            technology=options.technology,
            cpu_quota=options.cpu_quota,
        )
    except ValueError as error:
        raise UsageError(str(error), remedy="see aferir elastic measure --help") from None


def _check(options: argparse.Namespace) -> None:
    """Errors: UsageError where a number is out of bounds."""
    bounds: tuple[tuple[str, float, float, float], ...] = (
        ("--rate-mbit", options.rate_mbit, 0, 1e6),
        ("--cpu-quota", options.cpu_quota or 1, 0.01, 1),
        ("--startup", options.startup, 0.1, 60),
        ("--resolution", options.resolution, 0.005, 0.5),
        ("--clients", options.clients, 1, 100_000),
        ("--clients-per-node", options.clients_per_node, 0, 100_000),
        ("--seed", options.seed, 0, 2**63),
        ("--live", options.live or 1024, 1, 65535),
    )
    try:
        unspecified = ipaddress.ip_address(options.front).is_unspecified
    except ValueError:
        unspecified = True
    if unspecified:
        said = f"--front {options.front}: not an address that viewers could ask"
        raise UsageError(said, remedy="a numeric one of this machine")
    for name, value, least, most in bounds:
        if not least <= value <= most:
            raise UsageError(f"{name} {value}: not possible", remedy=f"from {least:g} to {most:g}")


@contextlib.contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind(("127.0.0.1", port))
        except OSError as error:
            raise UsageError(f"--live {port}: {error.strerror}", remedy="another port") from None
        yield made


def _tell(said: str) -> None:
    print(said, file=sys.stderr, flush=True)
