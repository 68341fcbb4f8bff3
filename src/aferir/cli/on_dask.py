"""Carries out a plan on a Dask cluster; each of its hosts runs one group of cells at a time.

Cells of a group are compared, so one host runs them all, in rounds, while other hosts run other
groups. So no ratio compares two hosts. A host runs one group at a time, however many workers and
threads it has.
"""

from __future__ import annotations

import itertools
import sys
import time
import urllib.parse
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from aferir import __version__, machine
from aferir.elastic.spread import cluster
from aferir.errors import ProgramError, UsageError
from aferir.linux import process, scratch, wait
from aferir.model.host import kind_of
from aferir.model.plan import Plan
from aferir.model.provenance import Provenance, Segment
from aferir.model.record import Record, Warning
from aferir.store import Run, Writer, choose, continue_run, create_run, list_runs, open_run
from aferir.store.lines import key_of

_LOOK_S = 0.5
"""Period in s at which lost workers are looked for."""
_TRIES = 3
"""Number of hosts on which a group may fail before it is given up."""
_ENDED = (0, 1)
"""Exit codes of a run that reached its end: 0, or 1 if all repetitions of a cell failed."""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one group, as its worker returns it."""

    records: tuple[Record, ...] = ()
    provenance: Provenance = Provenance(version=__version__)
    error: str = ""
    """Reason why there are no records; empty if there are."""


def run_group(experiment: bytes, group: str) -> bytes:
    """Run one group of an experiment file on this host; returns a `Done` as JSON."""
    with scratch.folder() as folder:
        file, runs = folder / "experiment.toml", folder / "runs"
        file.write_bytes(experiment)
        line = [sys.executable, "-m", "aferir", "run", str(file), "--runs", str(runs)]
        ended = process.run([*line, "--group", group], check=False)
        found = list_runs(runs)
        if ended.exit_code not in _ENDED or not found:
            return msgspec.json.encode(Done(error=process.explain_exit(ended)))
        run = open_run(found[0].folder)
        return msgspec.json.encode(Done(records=tuple(run.records), provenance=run.provenance))


def carry_out(
    plan: Plan,
    experiment: bytes,
    runs: Path,
    *,
    address: str,
    fresh: bool = False,
    note: Callable[[str], None],
) -> Run:
    """Run on the Dask cluster at `address` all groups that the run still lacks.

    An unfinished run of the same plan is continued, unless `fresh` is set. Errors: those of
    `elastic.spread.cluster`; ProgramError if groups failed or no worker is left: the same command
    then continues the run.
    """
    with cluster(address) as client, _writer(plan, experiment, runs, fresh=fresh) as writer:
        began = Segment(started_unix_ns=time.time_ns())
        provenance = open_run(writer.folder).provenance
        queue = _Queue(client, experiment, _missing(plan, provenance, writer.records))
        for group, host, done in queue.results(note):
            known = {key_of(record) for record in writer.records}
            for record in done.records:
                if key_of(record) not in known:  # else the allocation of another group's instance
                    writer.append(record)
            provenance = _with(provenance, done.provenance, group, host)
            writer.write_provenance(provenance)
        ended = msgspec.structs.replace(began, ended_unix_ns=time.time_ns())
        provenance = msgspec.structs.replace(
            provenance,
            segments=(*provenance.segments, ended),
            warnings=(*provenance.warnings, *doubts(provenance.facts)),
        )
        writer.write_provenance(provenance)
        if queue.failed:
            group, why = next(iter(queue.failed.items()))
            raise ProgramError(
                f"{len(queue.failed)} groups failed, {group} first: {why}",
                remedy="mend that, and run the same command again: it goes on with these groups",
            )
        writer.finish()
    return open_run(writer.folder)


class _Running(msgspec.Struct, frozen=True):
    """A group of cells that a worker is running now."""

    group: str
    worker: str
    future: Any


class _Queue:
    """Groups that wait for a host, and those that run."""

    def __init__(self, client: Any, experiment: bytes, groups: Iterable[str]) -> None:
        self.failed: dict[str, str] = {}
        """Reason of each group that was given up."""
        self._client = client
        self._experiment = experiment
        self._waiting = deque(groups)
        self._running: dict[str, _Running] = {}
        self._tried: dict[str, list[str]] = {group: [] for group in self._waiting}
        """Hosts on which each group has failed or was lost with its worker."""

    def results(self, note: Callable[[str], None]) -> Iterator[tuple[str, str, Done]]:
        """Yield each group that has succeeded, with its host and result, until none is left.

        A group that fails or loses its worker is run again on another host, on `_TRIES` hosts at
        most. Errors: ProgramError if no worker is left.
        """
        while self._waiting or self._running:
            workers = self._client.nthreads()
            hosts = _hosts(workers)
            for host in [one for one, of in self._running.items() if of.worker not in workers]:
                self._again(host, "its worker is gone", hosts, note)
            self._begin(hosts, note)
            wait.until(self._any_done, wait.after(_LOOK_S), period_s=_LOOK_S / 10)
            for host in [one for one, of in self._running.items() if of.future.done()]:
                done = _result(self._running[host].future)
                if done.error:
                    self._again(host, done.error, hosts, note)
                else:
                    yield self._running.pop(host).group, host, done

    def _any_done(self) -> bool:
        return any(one.future.done() for one in self._running.values())

    def _again(
        self, host: str, why: str, hosts: Mapping[str, str], note: Callable[[str], None]
    ) -> None:
        """Queue the group that failed on `host` for another host, or give it up."""
        group = self._running.pop(host).group
        self._tried[group].append(host)
        note(f"{group} failed on {host}: {why}")
        if len(self._tried[group]) < _TRIES and hosts.keys() - self._tried[group]:
            self._waiting.append(group)
        else:
            self.failed[group] = why

    def _begin(self, hosts: Mapping[str, str], note: Callable[[str], None]) -> None:
        """Start a group on each free host, preferably one that was not tried on it before."""
        if not hosts and not self._running:
            raise ProgramError("no worker is left", remedy="start workers, and run it again")
        for host in (one for one in hosts if one not in self._running):
            fit = (one for one in self._waiting if host not in self._tried[one])
            left = (one for one in self._waiting if hosts.keys() <= set(self._tried[one]))
            if (group := next(itertools.chain(fit, left), None)) is None:
                continue
            self._waiting.remove(group)
            future = self._client.submit(
                run_group, self._experiment, group, workers=[hosts[host]], pure=False
            )
            self._running[host] = _Running(group, hosts[host], future)
            note(f"{group} runs on {host}")


def doubts(facts: Mapping[str, Any]) -> tuple[Warning, ...]:
    """Warn if groups ran on several hosts, and say whether the hosts are of different kinds."""
    placed: Mapping[str, str] = facts.get("groups", {})
    hosts: Mapping[str, Any] = facts.get("hosts", {})
    if len(set(placed.values())) < 2:
        return ()
    kinds: dict[str, list[str]] = {}
    for host, of_host in hosts.items():
        kinds.setdefault(kind_of(of_host), []).append(host)
    each = "; ".join(f"{', '.join(names)}: {kind or 'unknown'}" for kind, names in kinds.items())
    advice = "compare environments within a group; figures of two groups may be of two hosts"
    if len(kinds) > 1:
        return (Warning("hosts-differ", f"groups ran on hosts that differ ({each})", advice),)
    return (Warning("groups-on-hosts", f"groups ran on several hosts ({each})", advice),)


def _writer(plan: Plan, experiment: bytes, runs: Path, *, fresh: bool) -> Writer:
    """Writer of a new run, or of an unfinished one of the same plan."""
    choice = None if fresh else choose(runs, plan, __version__)
    if choice is not None and choice.step == "continue" and choice.folder is not None:
        return continue_run(choice.folder)[0]
    facts = machine.describe()
    return create_run(runs, plan, experiment, Provenance(version=__version__, facts=facts))


def _missing(plan: Plan, provenance: Provenance, records: Iterable[Record]) -> list[str]:
    """Groups that have not run. Errors: UsageError if a kill left only some records of one."""
    groups = dict.fromkeys(cell.group for cell in plan.cells)
    missing = [group for group in groups if group not in provenance.facts.get("groups", {})]
    stored = {record.group for record in records}
    if cut := next((group for group in missing if group in stored), None):
        raise UsageError(f"the run was killed while {cut} was stored", remedy="run anew: --new")
    return missing


def _hosts(workers: Iterable[str]) -> dict[str, str]:
    """One worker of each host, by the host's address."""
    found: dict[str, str] = {}
    for worker in sorted(workers):
        found.setdefault(urllib.parse.urlsplit(worker).hostname or worker, worker)
    return found


def _result(future: Any) -> Done:
    """Result that a worker has returned; if it raised an exception, a result with the error."""
    try:
        return msgspec.json.decode(future.result(), type=Done)
    except Exception as error:  # noqa: BLE001 - whatever the worker raised
        return Done(error=f"{type(error).__name__}: {error}".partition("\n")[0])


def _with(before: Provenance, part: Provenance, group: str, host: str) -> Provenance:
    """Add to the provenance the facts, findings and images of one group's run on `host`."""
    hosts, groups = (dict(before.facts.get(key, {})) for key in ("hosts", "groups"))
    hosts[host], groups[group] = part.facts, host
    return msgspec.structs.replace(
        before,
        facts={**before.facts, "hosts": hosts, "groups": groups},
        findings=tuple(dict.fromkeys((*before.findings, *part.findings))),
        left_out=tuple(dict.fromkeys((*before.left_out, *part.left_out))),
        images={**before.images, **part.images},
        commands={**before.commands, **part.commands},
        warnings=tuple(dict.fromkeys((*before.warnings, *part.warnings))),
    )
