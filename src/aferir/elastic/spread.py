"""Runs simulations and viewers on the workers of a Dask cluster, which need the same aferir."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import ipaddress
import threading
import time
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from aferir.elastic.audience import (
    Clock,
    Part,
    Seen,
    Share,
    clock_of,
    run_share,
    shares,
    together,
    uncertainty_s,
)
from aferir.elastic.sweep import Job, Outcome, run_one
from aferir.errors import MissingError, ProgramError, TimeoutExpired, UsageError

_CONNECT_LIMIT = "20s"
_EXCHANGES = 20
_LEAD_S = 2.0
"""Seconds before the common start within which every worker receives its share."""
_LOOK_S = 0.5
_SAME_EVERYWHERE = "its scheduler and its workers need the same Python and the same aferir"


def run_on(address: str, jobs: Iterable[Job]) -> list[Outcome]:
    """Results in the order of the jobs, the same as in one process.

    Errors: those of `cluster`, ProgramError if a worker fails.
    """
    with cluster(address) as client, _told():
        # Not pure: otherwise two clusters at one address would share results.
        made: list[Outcome] = client.gather(client.map(run_one, list(jobs), pure=False))
    return made


@contextlib.contextmanager
def cluster(address: str) -> Iterator[Any]:
    """Connect to the Dask scheduler at `address`, and return the client.

    Errors: MissingError if dask.distributed is not installed, UsageError if that is no address,
    ProgramError if the scheduler does not answer or has no workers.
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ModuleNotFoundError:
        raise MissingError(
            "there is no dask.distributed here", remedy="pip install 'aferir[dask]'"
        ) from None
    try:
        # Before there is a client, which takes 40 s to notice that it has nothing to close.
        distributed.comm.resolve_address(address)
        client = distributed.Client(address, timeout=_CONNECT_LIMIT, set_as_default=False)
    except ValueError as error:
        raise UsageError(
            f"{address!r} is no address of Dask's scheduler: {error}",
            remedy="e.g. tcp://10.0.0.1:8786",
        ) from None
    except OSError as error:
        raise ProgramError(
            f"no scheduler of Dask answers at {address}: {error}",
            remedy="start one with `dask scheduler`; see docs/guides/elastic.md",
        ) from None
    with client:
        if not client.nthreads():
            raise ProgramError(
                f"the scheduler at {address} has no workers",
                remedy=f"on each host: dask worker {address}",
            )
        yield client


class SpreadAudience:
    """Runs the viewers' program on every worker of a cluster, each with a share of the arrivals."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._workers: tuple[str, ...] = tuple(sorted(client.nthreads()))

    def require_reach(self, front: str) -> None:
        """Raise UsageError if workers are on other hosts and Front listens on loopback only."""
        elsewhere = [worker for worker in self._workers if not _is_loopback(_host_of(worker))]
        if elsewhere and _is_loopback(front):
            raise UsageError(
                f"viewers on {_host_of(elsewhere[0])} cannot reach Front on {front}",
                remedy="--front ADDRESS: one of this machine that all workers reach",
            )

    async def watch(
        self, url: str, options: Sequence[str], times_s: Sequence[float], *, limit_s: float
    ) -> Seen:
        """Run the viewers in all places, from a common start.

        Errors: ProgramError if one of them fails.
        """
        stop = threading.Event()
        work = functools.partial(self._watch, url, tuple(options), times_s, limit_s, stop)
        try:
            return await asyncio.get_running_loop().run_in_executor(None, work)
        finally:
            stop.set()

    def _watch(
        self,
        url: str,
        options: tuple[str, ...],
        times_s: Sequence[float],
        limit_s: float,
        stop: threading.Event,
    ) -> Seen:
        workers = self._workers[: len(times_s)]
        with _told():
            before = {worker: self._clock(worker) for worker in workers}
            begin_s = time.monotonic() + _LEAD_S
            futures = {
                worker: self._client.submit(
                    run_share,
                    Share(
                        url=url,
                        options=options,
                        times_s=share,
                        begin_s=begin_s + before[worker].ahead_s,
                        limit_s=limit_s,
                    ),
                    workers=[worker],
                    pure=False,
                )
                for worker, share in zip(workers, shares(times_s, len(workers)), strict=True)
            }
            self._await(futures, begin_s + limit_s, stop)
            made: list[Part] = self._client.gather(list(futures.values()))
            after = {worker: self._clock(worker) for worker in workers}
        parts = tuple(
            msgspec.structs.replace(
                part, uncertainty_s=uncertainty_s(before[worker], after[worker])
            )
            for worker, part in zip(workers, made, strict=True)
        )
        return Seen(watched=together(parts), parts=parts)

    def _clock(self, worker: str) -> Clock:
        """Read a worker's clock outside of its tasks, so that a busy worker answers as well."""
        exchanges = []
        for _ in range(_EXCHANGES):
            asked = time.monotonic()
            there = self._client.run(time.monotonic, workers=[worker])[worker]
            exchanges.append((asked, there, time.monotonic()))
        return clock_of(exchanges)

    def _await(self, futures: Mapping[str, Any], until: float, stop: threading.Event) -> None:
        """Wait for all tasks; fail if a worker dies, as its task would wait for ever."""
        while waiting := [worker for worker, future in futures.items() if not future.done()]:
            gone = [worker for worker in waiting if worker not in self._client.nthreads()]
            if gone or stop.wait(_LOOK_S) or time.monotonic() > until:
                self._client.cancel(list(futures.values()), force=True)
                if gone:
                    raise ProgramError(
                        f"the worker at {gone[0]} is gone, and its viewers with it",
                        remedy="see what it said at last, and measure again",
                    )
                raise TimeoutExpired("the viewers of the cluster were ended before their time")


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Convert whatever a worker raises to an error of aferir."""
    try:
        yield
    except (MissingError, ProgramError) as error:
        raise ProgramError(
            f"the cluster failed: {error}", remedy=error.remedy or _SAME_EVERYWHERE
        ) from error
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise ProgramError(
            f"the cluster failed: {type(error).__name__}: {first}", remedy=_SAME_EVERYWHERE
        ) from error


def _host_of(worker: str) -> str:
    return urllib.parse.urlsplit(worker).hostname or worker


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return host == "localhost"
