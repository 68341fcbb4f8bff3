"""Simulated runs on the workers of a Dask cluster, which need this aferir, too."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

from aferir.elastic.sweep import Job, Outcome, run_one
from aferir.errors import MissingError, ProgramError

_CONNECT_LIMIT = "20s"


def run_on(address: str, jobs: Iterable[Job]) -> list[Outcome]:
    """In the order of the jobs, and the same as in one process.

    Errors: MissingError without dask.distributed here, ProgramError where the scheduler does not
    answer or a worker fails.
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ModuleNotFoundError:
        raise MissingError(
            "there is no dask.distributed here", remedy="pip install 'aferir[dask]'"
        ) from None
    try:
        client = distributed.Client(address, timeout=_CONNECT_LIMIT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ProgramError(
            f"no scheduler of Dask answers at {address}: {error}",
            remedy="start one with `dask scheduler`; see docs/guides/elastic.md",
        ) from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise ProgramError(
                f"the scheduler at {address} has no workers",
                remedy=f"on each host: dask worker {address}",
            )
        return _gathered(client, jobs)


def _gathered(client: Any, jobs: Iterable[Job]) -> list[Outcome]:
    try:
        # Not pure: two clusters of one address would share results that nobody asked for.
        made: list[Outcome] = client.gather(client.map(run_one, list(jobs), pure=False))
    except Exception as error:  # whatever a worker raised comes back as itself
        first = str(error).strip().partition("\n")[0]
        raise ProgramError(
            f"the cluster failed: {type(error).__name__}: {first}",
            remedy="its scheduler and its workers need the same Python and the same aferir",
        ) from error
    return made
