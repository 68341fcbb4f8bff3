"""The three steps of ElasticMovie, carried out with the options of the command line."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from aferir.clouds.simulated import Layout, SimulatedCloud
from aferir.elastic.program import (
    AllocationParameters,
    CapacityParameters,
    LoadParameters,
    MovieParameters,
)
from aferir.elastic.verbs.energy import meter_of, with_energy
from aferir.elastic.verbs.options import video_of, viewing_of
from aferir.elastic.video import Video, doubts
from aferir.errors import UsageError
from aferir.machine import needed
from aferir.model.cloud import WANTED, Wanted
from aferir.model.record import GUESTS_EMULATED, Warning
from aferir.power.meter import Meter
from aferir.programs.figures import Figures
from aferir.programs.others import Others, others

if TYPE_CHECKING:
    from aferir.elastic.front import Settings
    from aferir.elastic.movie import Show
    from aferir.elastic.node import Node
    from aferir.elastic.spread import SpreadAudience

Step: TypeAlias = AllocationParameters | CapacityParameters | LoadParameters | MovieParameters
_HOSTS, _PER_HOST = 2, 4
_EMULATED = Warning(
    GUESTS_EMULATED,
    "the guests ran on processors emulated in software, many times slower than real ones",
    "read the figures as the emulator's; run where `aferir doctor` finds a working KVM",
)
REPETITION = "AFERIR_REPETITION"
"""Environment variable with the number of the repetition, which is part of the seed of arrivals."""


def measure(chosen: Step, cloud: Path | None, live: int | None) -> Figures:
    """Carry out the step of ElasticMovie that the parameters `chosen` belong to.

    `cloud`: file that describes the cloud, or None; `live`: port of the live page.
    """
    video = video_of(chosen)
    wanted = _wanted(cloud)
    # Its thread starts here, outside of the network namespace of a step on simulated hosts.
    with meter_of(chosen.power) as meter:
        if wanted is not None:
            figures = _on_cloud(chosen, video, wanted, meter, live=live)
            return with_energy(figures, meter.taken)
        elsewhere = others()
        if isinstance(chosen, MovieParameters):
            figures = _movie(chosen, video, meter, live=live)
        elif elsewhere is not None and isinstance(chosen, CapacityParameters | LoadParameters):
            figures = _over_hosts(chosen, video, meter, elsewhere)
        else:
            figures = _on_hosts(chosen, video, meter)
        figures = with_energy(figures, meter.taken)
    return msgspec.structs.replace(figures, doubts=(*figures.doubts, *doubts(video)))


def _on_hosts(chosen: Step, video: Video, meter: Meter) -> Figures:
    """Steps `allocation`, `capacity` and `load` on simulated hosts."""
    from aferir.elastic.allocation import allocate_once
    from aferir.elastic.capacity import native_host, simulated
    from aferir.elastic.measured import condition, keep_allocation, keep_streams
    from aferir.elastic.stage import stage

    layout = _layout(chosen)
    context = chosen.context if isinstance(chosen, AllocationParameters) else "image"
    set_up = stage(layout, video, cache=chosen.cache, context=context, progress=_tell)
    with set_up as made, meter.counting():
        if isinstance(chosen, CapacityParameters):
            servers = simulated(made.cloud, video, made.path, chosen.instances)
            figures = _capacity(chosen, video, servers, made.folder)
            keep_streams(layout, video, chosen.instances, figures.samples[0].value)
        elif isinstance(chosen, LoadParameters):
            figures = _load(chosen, video, native_host(made.cloud, video, made.path))
        else:
            figures = allocate_once(made.cloud)
            seconds = next(one.value for one in figures.samples if one.metric == "tar_s")
            keep_allocation(layout, video, condition(chosen.cache, context), seconds)
        return _marked(figures, made.cloud)


def _over_hosts(
    chosen: CapacityParameters | LoadParameters, video: Video, meter: Meter, elsewhere: Others
) -> Figures:
    """Steps `capacity` and `load` of this host itself, with viewers on the others."""
    from aferir.elastic import watching
    from aferir.elastic.node import native_node
    from aferir.elastic.segments import make
    from aferir.linux import scratch

    with scratch.folder(0o755) as folder:
        path = make(video, folder)
        node = native_node(path, sent_bps=video.limit_bps, address=elsewhere.address)
        with meter.counting():
            if isinstance(chosen, LoadParameters):
                figures = _load(chosen, video, node, elsewhere)
            else:
                figures = _capacity(chosen, video, _one_url(node), folder, elsewhere)
    doubts = (*figures.doubts, *watching.doubts(elsewhere))
    return msgspec.structs.replace(figures, doubts=doubts)


@contextlib.contextmanager
def _one_url(server: AbstractContextManager[Node]) -> Iterator[list[str]]:
    with server as node:
        yield [node.url]


def _capacity(
    chosen: CapacityParameters,
    video: Video,
    servers: AbstractContextManager[Sequence[str]],
    folder: Path,
    elsewhere: Others | None = None,
) -> Figures:
    from aferir.elastic.capacity import measure

    return measure(
        servers,
        video,
        instances=chosen.instances,
        rate_bps=chosen.rate_mbit * 1e6,
        viewing=viewing_of(chosen, video),
        resolution=chosen.resolution,
        profile_in=folder if chosen.profile else None,
        elsewhere=elsewhere,
    )


def _load(
    chosen: LoadParameters,
    video: Video,
    server: AbstractContextManager[Node],
    elsewhere: Others | None = None,
) -> Figures:
    from aferir.elastic.load import measure

    return measure(
        server,
        video,
        viewers=chosen.viewers,
        interval_s=chosen.interval,
        viewing=viewing_of(chosen, video),
        elsewhere=elsewhere,
    )


def _wanted(cloud: Path | None) -> Wanted | None:
    """The cloud that the file describes, or that the runner passes in the environment."""
    from aferir.clouds.providers import read_wanted

    if cloud is not None:
        return read_wanted(cloud)
    told = os.environ.get(WANTED)
    return None if told is None else msgspec.json.decode(told, type=Wanted)


def _on_cloud(
    chosen: Step, video: Video, wanted: Wanted, meter: Meter, *, live: int | None
) -> Figures:
    """Steps `allocation` and `movie`, which need no access to the hosts, on a cloud."""
    from aferir.clouds.providers import cloud
    from aferir.elastic.allocation import allocate_once
    from aferir.elastic.movie import play
    from aferir.elastic.node import told
    from aferir.linux import scratch

    if isinstance(chosen, CapacityParameters | LoadParameters):
        raise UsageError(
            "--cloud: a host is measured itself on simulated hosts, or inside a cloud",
            remedy="run `aferir elastic measure capacity` on a host of the cloud's kind",
        )
    made = cloud(told(wanted, video))
    needed.require(made.check())
    if not isinstance(chosen, MovieParameters):
        with meter.counting():
            return allocate_once(made)
    if wanted.context == "none":
        raise UsageError(
            "--cloud: instances that are told nothing serve no video",
            remedy="write another `context`, or measure their allocation alone",
        )
    if not chosen.clients_per_node:
        raise UsageError(
            "--clients-per-node: nothing is known of the instances of a cloud",
            remedy="say how many viewers one of them serves",
        )
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(_listening(live)) if live else None
        folder = stack.enter_context(scratch.folder())
        audience = stack.enter_context(_spread(chosen.dask, chosen.front)) if chosen.dask else None
        show = _show(chosen, video, chosen.clients_per_node, _quota(chosen))
        show = msgspec.structs.replace(show, allocation_s=wanted.limit_s)
        with meter.counting():
            return play(show, made, folder, live=listening, tell=_tell, audience=audience)


@contextlib.contextmanager
def _spread(dask: str, front: str) -> Iterator[SpreadAudience]:
    """Viewers on a cluster. Errors: UsageError if its workers cannot reach Front; as `cluster`."""
    from aferir.elastic.spread import SpreadAudience, cluster

    with cluster(dask) as client:
        audience = SpreadAudience(client)
        audience.require_reach(front)
        yield audience


def _movie(chosen: MovieParameters, video: Video, meter: Meter, *, live: int | None) -> Figures:
    from aferir.elastic.measured import condition, load
    from aferir.elastic.movie import play
    from aferir.elastic.stage import clients_per_node, stage

    if chosen.dask is not None:
        raise UsageError(
            "--dask: nobody but this machine reaches the hosts that it simulates",
            remedy="take instances of a cloud, with --cloud FILE",
        )
    layout = _layout(chosen)
    taken = condition(chosen.cache, chosen.context)
    expected = load(layout, video).allocation_s.get(taken, ())
    # Opened here, outside of the network namespace of the step, as the page is for this machine.
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(_listening(live)) if live else None
        per_node = chosen.clients_per_node or clients_per_node(layout, video, _tell)
        show = _show(chosen, video, per_node, layout.hosts * layout.per_host, expected)
        set_up = stage(layout, video, cache=chosen.cache, context=chosen.context, progress=_tell)
        made = stack.enter_context(set_up)
        with meter.counting():
            figures = play(show, made.cloud, made.folder, live=listening, tell=_tell)
        return _marked(figures, made.cloud)


def _marked(figures: Figures, cloud: SimulatedCloud) -> Figures:
    """Figures with a warning if the cloud's guests were emulated."""
    doubts = (_EMULATED,) if cloud.emulated else ()
    return msgspec.structs.replace(figures, doubts=(*figures.doubts, *doubts))


def _show(
    chosen: MovieParameters,
    video: Video,
    per_node: int,
    most_nodes: int | None,
    expected_s: tuple[float, ...] = (),
) -> Show:
    from aferir.elastic.movie import Show
    from aferir.elastic.simulate import Load

    try:
        audience = Load(
            clients=chosen.clients,
            interarrival_s=chosen.interarrival,
            video_s=video.seconds,
            shape=chosen.arrivals,
        )
    except ValueError as error:
        raise UsageError(str(error), remedy="see aferir elastic measure --help") from None
    return Show(
        load=audience,
        policy=_policy(chosen, per_node, most_nodes),
        viewing=viewing_of(chosen, video),
        seed=(chosen.seed, int(os.environ.get(REPETITION, "0"))),
        front=chosen.front,
        expected_s=expected_s,
    )


def _policy(chosen: MovieParameters, clients_per_node: int, most_nodes: int | None) -> Settings:
    from aferir.elastic.front import Settings

    try:
        return Settings(
            clients_per_node=clients_per_node,
            patience_s=chosen.patience,
            choice=chosen.choice,
            waiting=chosen.waiting,
            warm_nodes=chosen.warm,
            release_delay_s=chosen.release_delay,
            predictor_window_s=chosen.predict_window,
            predictor_horizon_s=chosen.predict_horizon,
            most_nodes=most_nodes,
        )
    except ValueError as error:
        raise UsageError(str(error), remedy="see aferir elastic measure --help") from None


def _quota(chosen: MovieParameters) -> int | None:
    """Number of instances that the options allow; None: only the cloud's own quota applies."""
    if chosen.hosts is None and chosen.per_host is None:
        return None
    hosts, per_host = _places(chosen)
    return hosts * per_host


def _places(chosen: Step) -> tuple[int, int]:
    hosts = _HOSTS if chosen.hosts is None else chosen.hosts
    return hosts, _PER_HOST if chosen.per_host is None else chosen.per_host


def _layout(chosen: Step) -> Layout:
    hosts, per_host = _places(chosen)
    if isinstance(chosen, CapacityParameters):
        hosts, per_host = 1, max(1, chosen.instances)
    try:
        return Layout(
            hosts=hosts,
            per_host=per_host,
            rate_bps=chosen.rate_mbit * 1e6,
            technology=chosen.technology,
            cpu_quota=chosen.cpu_quota,
        )
    except ValueError as error:
        raise UsageError(str(error), remedy="see aferir elastic measure --help") from None


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
