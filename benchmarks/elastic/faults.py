"""Inject faults into ElasticMovie on simulated hosts: no viewer is lost, and nothing leaks."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import msgspec

from aferir.clouds.base import Server
from aferir.clouds.simulated import Layout, SimulatedCloud, simulated_cloud
from aferir.elastic.door import Limits
from aferir.elastic.front import Settings
from aferir.elastic.ledger import Ledger
from aferir.elastic.node import template
from aferir.elastic.service import Service
from aferir.elastic.site import CloudSite
from aferir.elastic.video import VIDEO_BPS, Video, make
from aferir.elastic.viewers import Watched, command, run
from aferir.environments.base import Instance
from aferir.environments.lxc.spec import KIND as CONTAINER
from aferir.errors import AferirError, ProgramError
from aferir.linux import journal, namespace
from aferir.model.finding import Finding

Fault = Literal["kill", "fail", "hang", "slow", "restart"]
FAULTS: tuple[Fault, ...] = ("kill", "fail", "hang", "slow", "restart")
_VIEWERS = 12
_INTERVAL_S = 0.2
_VIDEO_S = 5.0
_OVERDUE_S = 2.0
"""Shortest limit in seconds; an allocation is overdue after four times its usual time here."""
_LATER_S = 1.0
"""Seconds beyond that limit that viewers wait, and that a hanging allocation takes."""
_SLOW_S = 1.0
_STREAMS_S = 0.3
_FAULTS_EACH = 2
_BURSTS_S = 3.0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of one sequence of faults."""

    faults: tuple[Fault, ...]
    events: dict[str, int]
    accounted: bool
    """Whether every viewer has exactly one outcome, and Front's ledger has one for every client."""
    leaks: tuple[str, ...]


class FaultyCloud:
    """Simulated cloud of two hosts with two places each; allocations fail or hang on demand."""

    provider = "faulty"

    def __init__(self, cloud: SimulatedCloud, overdue_s: float) -> None:
        self.overdue_s = overdue_s
        self.next: list[Fault] = []
        self.made: dict[str, Server] = {}
        self._cloud = cloud

    def check(self) -> list[Finding]:
        """Return no findings: the simulated cloud has been checked before."""
        return []

    def create(self) -> Server:
        """Allocate an instance, unless the next fault is that this fails or hangs."""
        fault = self.next.pop() if self.next else None
        if fault == "fail":
            raise ProgramError("a planted failure")
        if fault == "hang":
            time.sleep(self.overdue_s + _LATER_S)
        server = self._cloud.create()
        self.made[server.name] = server
        return server

    def delete(self, name: str) -> float:
        """Release the instance in the simulated cloud."""
        self.made.pop(name, None)
        return self._cloud.delete(name)

    def delete_all(self) -> None:
        """Release all instances of the simulated cloud."""
        self.made.clear()
        self._cloud.delete_all()

    def sent_bytes(self) -> int:
        """Return the bytes that the simulated cloud has sent."""
        return self._cloud.sent_bytes()

    def victim(self, chance: random.Random) -> Instance | None:
        """Choose one of the instances that serve; None if there is none."""
        names = sorted(self.made)
        return self._cloud.instance(chance.choice(names)) if names else None


def sequences(count: int, seed: int, note: Callable[[int], None] = lambda _: None) -> list[Outcome]:
    """Run `count` random sequences of faults, on containers. This needs root.

    Errors: as `aferir.environments.simulated.simulated_cloud`.
    """
    # A separate thread enters the clients' namespace, and so do the threads that it starts.
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(_sequences, count, seed, note).result()


def _sequences(count: int, seed: int, note: Callable[[int], None]) -> list[Outcome]:
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="aferir-faults-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        image = template(make(Video(seconds=_VIDEO_S), folder), folder)
        with simulated_cloud(Layout(hosts=2, per_host=2), image) as cloud:
            namespace.enter(cloud.clients_namespace)
            cloud.fill_caches()
            sample = cloud.create()
            cloud.delete(sample.name)
            overdue_s = max(_OVERDUE_S, 4 * sample.total_s)
            for number in range(count):
                note(number)
                chance = random.Random(seed * 1000 + number)  # noqa: S311 - no secret
                outcomes.append(_sequence(FaultyCloud(cloud, overdue_s), folder, chance))
    return outcomes


def _sequence(faulty: FaultyCloud, folder: Path, chance: random.Random) -> Outcome:
    faults = tuple(chance.choice(FAULTS) for _ in range(_FAULTS_EACH))
    ledger = folder / "ledger"
    ledger.unlink(missing_ok=True)
    with CloudSite(faulty) as site:
        watched = asyncio.run(_play(site, faulty, ledger, faults, chance))
    with Ledger(ledger, time.time()) as again:
        books, events = again.books(), dict(again.counts)
    settled = books.served + books.abandoned + books.blocked + books.failed
    theirs = watched.served + watched.abandoned + watched.blocked + watched.failed
    return Outcome(
        faults=faults,
        events=events,
        accounted=books.received == settled and theirs == watched.clients == _VIEWERS,
        leaks=_leaks(),
    )


async def _play(
    site: CloudSite,
    cloud: FaultyCloud,
    path: Path,
    faults: tuple[Fault, ...],
    chance: random.Random,
) -> Watched:
    # More Nodes than places, so that the environment's quota is exceeded occasionally.
    policy = Settings(clients_per_node=2, patience_s=cloud.overdue_s + _LATER_S)
    limits = Limits(allocation_s=cloud.overdue_s, watch_s=0.2, stay_s=30.0)
    with contextlib.ExitStack() as ledgers:
        service = Service(policy, site, ledgers.enter_context(Ledger(path, time.time())), limits)
        port = await service.start()
        options = ["--clients", str(_VIEWERS), "--interval", str(_INTERVAL_S), "--silence", "5"]
        options += ["--bitrate", str(VIDEO_BPS), "--patience", str(policy.patience_s + 2)]
        line = command(f"http://127.0.0.1:{port}/", options)
        viewers = asyncio.create_task(run(line, limit_s=120.0))
        for fault in faults:
            await asyncio.sleep(chance.uniform(0.2, _BURSTS_S / _FAULTS_EACH))
            if fault == "restart":
                await service.abort()
                ledgers.close()
                ledger = ledgers.enter_context(Ledger(path, time.time()))
                service = Service(policy, site, ledger, limits)
                await service.start(port=port)
            elif fault in ("fail", "hang"):
                cloud.next.append(fault)
            elif (victim := await _victim(cloud, chance)) is not None:
                await asyncio.to_thread(_harm, victim, fault)
        watched = await viewers
        await asyncio.wait_for(service.settled(), 60.0)
        await service.stop()
    return watched


async def _victim(cloud: FaultyCloud, chance: random.Random) -> Instance | None:
    """Choose an instance that streams, once there is one; None if none appears."""
    for _ in range(100):
        if (victim := cloud.victim(chance)) is not None:
            await asyncio.sleep(_STREAMS_S)
            return victim
        await asyncio.sleep(cloud.overdue_s / 100)
    return None


def _harm(victim: Instance, fault: Fault) -> None:
    """Kill the instance, or stop it for a moment; it may have ended by itself meanwhile."""
    with contextlib.suppress(AferirError, OSError):
        if fault == "kill":
            os.kill(victim.accounting.processes[0], signal.SIGKILL)
            return
        victim.pause()
        try:
            time.sleep(_SLOW_S)
        finally:
            victim.resume()


def _leaks() -> tuple[str, ...]:
    """List the containers that this process has journalled and not released."""
    ours = os.getpid()
    return tuple(
        entry.id
        for entry in journal.entries()
        if entry.kind == CONTAINER and entry.owner_pid == ours
    )


def summary(outcomes: list[Outcome]) -> str:
    """Format how often each event was counted, over all sequences."""
    counted: Counter[str] = Counter()
    for one in outcomes:
        counted.update(one.events)
    return ", ".join(f"{count} {event}" for event, count in sorted(counted.items()))
