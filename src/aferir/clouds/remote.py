"""Instances of a cloud that is asked over its network interface, whichever it is.

What differs between clouds is behind `Provider`; one instance's way through it is the same for all:
journalled, asked for by a name that carries the entry's id, looked at until it runs, and used as
soon as it serves.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Literal, Protocol

import msgspec

from aferir.clouds.base import Phase, PhaseName, Server, await_service
from aferir.errors import ProgramError, UsageError
from aferir.linux import journal, undo
from aferir.linux.journal import Entry
from aferir.model.cloud import Wanted
from aferir.model.finding import Finding

KIND = "instance"
"""Of the journal's entries."""
POLL_S = 0.05
_MOST_FAILED_LOOKS = 20
_GONE_LIMIT_S = 120.0

Stage = Literal["placing", "copying", "booting", "failed", "gone"]


class Look(msgspec.Struct, frozen=True):
    """What a cloud says of one instance at one moment."""

    stage: Stage
    address: str = ""
    said: str = ""
    """Of a failure, in the cloud's own words."""


class Provider(Protocol):
    """One cloud. Calls block, may come from several threads at once, and raise ProgramError."""

    sources: dict[PhaseName, str]
    """What shows each phase; those that cannot be seen are missing here."""
    resolution_s: float
    """Of what it says itself; looking every `POLL_S` bounds it, too."""

    def check(self) -> list[Finding]:
        """Whether it can be reached, and with what credentials; changes nothing."""
        ...

    def request(self, name: str) -> str:
        """Ask for an instance of that name; its id."""
        ...

    def look(self, identity: str) -> Look:
        """How far it is."""
        ...

    def remove(self, identity: str) -> None:
        """Ask for its end; one that is gone is fine."""
        ...

    def find(self, name: str) -> list[str]:
        """Ids of the instances of that name that are not gone."""
        ...


class RemoteCloud:
    """Instances as `Wanted` says, each tagged by its name."""

    def __init__(self, wanted: Wanted, provider: Provider) -> None:
        self.provider: str = wanted.provider
        self._wanted = wanted
        self._cloud = provider
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}

    def check(self) -> list[Finding]:
        """Whether the cloud can be reached."""
        return self._cloud.check()

    def create(self) -> Server:
        """Ask, look until it runs, and wait for the first 200. Nothing is left where that fails."""
        asked = time.perf_counter()
        details = {"wanted": msgspec.json.encode(self._wanted).decode()}
        entry = journal.write(KIND, details)
        name = name_of(entry)
        with self._lock:
            self._entries[name] = entry
        try:
            identity = self._cloud.request(name)
            placed, running, address = self._await_running(identity, asked)
            left_s = self._wanted.limit_s - (time.perf_counter() - asked)
            await_service(address, self._wanted.port, self._wanted.probe, left_s)
            ready = time.perf_counter()
        except BaseException:
            self.delete(name)
            raise
        return Server(
            name=name,
            address=address,
            url=f"http://{address}:{self._wanted.port}{self._wanted.probe}",
            phases=_phases(self._cloud, placed - asked, running - asked, ready - running),
            total_s=ready - asked,
        )

    def delete(self, name: str) -> None:
        """Ask for its end and wait until the cloud knows it no longer."""
        with self._lock:
            entry = self._entries.get(name)
        if entry is None:
            return
        remove_named(self._cloud, name)
        journal.erase(entry)
        with self._lock:
            self._entries.pop(name, None)

    def delete_all(self) -> None:
        """One after the other; the first error of any."""
        undo.each(self.delete, list(self._entries))

    def sent_bytes(self) -> int:
        """What passes a cloud's hosts is not ours to see."""
        return 0

    def _await_running(self, identity: str, asked: float) -> tuple[float, float, str]:
        """When it had left the scheduler, when it ran, and its address."""
        placed = 0.0
        failed_looks = 0
        while True:
            try:
                look = self._cloud.look(identity)
            except ProgramError:  # a cloud under load refuses now and then
                failed_looks += 1
                if failed_looks > _MOST_FAILED_LOOKS:
                    raise
                time.sleep(POLL_S)
                continue
            now = time.perf_counter()
            if look.stage in ("failed", "gone"):
                said = look.said or "it vanished"
                raise ProgramError(f"{self.provider} could not make an instance: {said}")
            if look.stage != "placing":
                placed = placed or now
            if look.stage == "booting" and look.address:
                return placed, now, look.address
            if now - asked > self._wanted.limit_s:
                raise ProgramError(
                    f"an instance of {self.provider} is still {look.stage} after "
                    f"{self._wanted.limit_s:g} s",
                    remedy="look at the cloud's own log, or raise limit_s",
                )
            time.sleep(POLL_S)


def name_of(entry: Entry) -> str:
    """Of the instance that an entry announces."""
    return f"aferir-{entry.id}"


def wanted_of(entry: Entry) -> Wanted:
    """What an entry's instance is one of. Errors: UsageError where another version wrote it."""
    try:
        return msgspec.json.decode(entry.details["wanted"], type=Wanted)
    except (KeyError, msgspec.DecodeError) as error:
        raise UsageError(f"the journal's entry {entry.id} is not readable: {error}") from None


def remove_named(cloud: Provider, name: str) -> None:
    """End every instance of that name. Errors: ProgramError where one stays."""
    deadline = time.monotonic() + _GONE_LIMIT_S
    asked: set[str] = set()
    while left := cloud.find(name):
        for identity in left:
            if identity not in asked:
                cloud.remove(identity)
                asked.add(identity)
        if time.monotonic() > deadline:
            raise ProgramError(
                f"the instance {name} is still there after {_GONE_LIMIT_S:g} s",
                remedy="remove it by the cloud's own means, then run `aferir clean`",
            )
        with contextlib.suppress(InterruptedError):
            time.sleep(POLL_S)


def _phases(
    cloud: Provider, placed_s: float, running_s: float, booted_s: float
) -> tuple[Phase, ...]:
    """TeF, TcI and TiI; where the placing cannot be seen it is part of what comes after it."""
    seen = "TeF" in cloud.sources
    steps: dict[PhaseName, float | None] = {
        "TeF": placed_s if seen else None,
        "TcI": running_s - placed_s if seen else running_s,
        "TiI": booted_s,
    }
    return tuple(
        Phase(
            name=name,
            seconds=seconds,
            source=cloud.sources.get(name, "this cloud does not tell it from what follows"),
            resolution_s=max(POLL_S, cloud.resolution_s),
        )
        for name, seconds in steps.items()
    )
