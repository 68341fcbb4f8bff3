"""Instances of any cloud that is accessed over a network API.

Differences between clouds are behind `Provider`; the life of an instance is the same for all: it is
journalled, requested by a name that contains the entry's ID, polled until it runs, used as soon as
its service answers, and forgotten once the cloud has confirmed its end.
"""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import msgspec

from aferir.clouds import known, patience, removal
from aferir.clouds.base import Phase, PhaseName, Server, await_service, bracketed
from aferir.clouds.provider import Provider
from aferir.clouds.refused import CloudError
from aferir.clouds.removal import Made
from aferir.errors import AferirError, ProgramError, UsageError
from aferir.linux import journal, undo, wait
from aferir.linux.journal import Entry
from aferir.model.cloud import Wanted
from aferir.model.finding import Finding

KIND = "instance"
"""Kind of the journal entries of cloud instances."""
_TOGETHER = 8
"""Number of instances that are released in parallel, limited because clouds throttle frequent
requests.
"""
_FINDING_S = 0.5


class RemoteCloud:
    """Instances as `Wanted` describes them, each identified by its name."""

    def __init__(self, wanted: Wanted, provider: Provider) -> None:
        self.provider: str = wanted.provider
        self._wanted = wanted
        self._cloud = provider
        self._poller = patience.Poller(provider.looks, provider.resolution_s)
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}
        self._place = ""

    def check(self) -> list[Finding]:
        """Whether the cloud can be reached."""
        return self._cloud.check()

    def create(self) -> Server:
        """Request an instance, poll until it runs, and wait for the first 200.

        Errors: AferirError; nothing is left then.
        """
        place = self._be_known()
        asked = time.perf_counter()
        entry = write(self._wanted, place)
        name = name_of(entry)
        with self._lock:
            self._entries[name] = entry
        try:
            identity = self._request(name)
            with self._lock:
                self._entries[name] = journal.amend(entry, {"identity": identity})
            placed, running, address = self._await_running(identity, asked)
            left_s = self._wanted.limit_s - (time.perf_counter() - asked)
            await_service(address, self._wanted.port, self._wanted.probe, left_s)
            ready = time.perf_counter()
        except AferirError as error:
            self._give_up(name, error)
            if isinstance(error, CloudError):
                raise ProgramError(error.message, remedy=error.remedy) from error
            raise
        except BaseException:
            self.delete(name)
            raise
        return Server(
            name=name,
            address=address,
            url=f"http://{bracketed(address)}:{self._wanted.port}{self._wanted.probe}",
            phases=_phases(self._cloud, placed - asked, running - asked, ready - running),
            total_s=ready - asked,
        )

    def delete(self, name: str) -> float:
        """Request the removal of an instance, and wait until the cloud has confirmed it."""
        with self._lock:
            entry = self._entries.get(name)
        if entry is None:
            return 0.0
        seconds = removal.remove(self._cloud, made_of(entry))
        journal.erase(entry)
        with self._lock:
            self._entries.pop(name, None)
        return seconds

    def delete_all(self) -> None:
        """Release all instances, some in parallel; then raise the first error, if any."""
        names = list(self._entries)
        if not names:
            return
        with ThreadPoolExecutor(min(_TOGETHER, len(names))) as threads:
            ends = [threads.submit(self.delete, name) for name in names]
            undo.each(lambda end: end.result(), ends)

    def sent_bytes(self) -> int:
        """Always 0, as a cloud's traffic cannot be observed."""
        return 0

    def _be_known(self) -> str:
        """Record the place of the instances, once, and return it."""
        with self._lock:
            if not self._place:
                self._place = self._cloud.place()
                known.remember(self._wanted, self._place)
            return self._place

    def _give_up(self, name: str, error: AferirError) -> None:
        """Release what exists of an instance that could not be made because of `error`.

        Errors: ProgramError with the messages of both failures, if the release fails too.
        """
        if not (isinstance(error, CloudError) and error.may_be_done):
            with self._lock:
                entry = self._entries[name]
                if not entry.details.get("identity"):
                    self._entries[name] = journal.amend(entry, {"refused": "yes"})
        try:
            self.delete(name)
        except AferirError as left:
            message = f"{error.message}; and then: {left.message}"
            remedy = (
                left.remedy or "run `aferir clean` when the cloud answers: the journal knows of it"
            )
            raise ProgramError(message, remedy=remedy) from error

    def _request(self, name: str) -> str:
        """Request an instance; returns its ID.

        If a response is lost, the ID is looked up by the name. Errors: AferirError.
        """
        deadline_s = wait.after(self._wanted.limit_s)
        failures = patience.Failures(deadline_s)
        in_doubt = False
        while True:
            try:
                return self._cloud.request(name)
            except CloudError as error:
                in_doubt = error.may_be_done = in_doubt or error.may_be_done
                if not error.passing:
                    raise
                pause_s = failures.one(error)
                lost = error
            time.sleep(pause_s)
            if in_doubt and (made := self._found(name, deadline_s)):
                return made
            if in_doubt and not self._cloud.repeatable:
                raise lost

    def _found(self, name: str, deadline_s: float) -> str:
        """ID of an instance that a request has created without a response; "" if there is none."""
        appears_s = 0.0 if self._cloud.repeatable else self._cloud.consistency.appears_s
        found = wait.until(
            lambda: patience.patiently(lambda: self._cloud.find(name), deadline_s),
            min(deadline_s, wait.after(appears_s)),
            period_s=_FINDING_S,
        )
        return found[0] if found else ""

    def _await_running(self, identity: str, asked: float) -> tuple[float, float, str]:
        """Wait until the instance runs; returns when it was placed and ran, and its address."""
        self._poller.begin(identity)
        try:
            return self._follow(identity, asked)
        finally:
            self._poller.end(identity)

    def _follow(self, identity: str, asked: float) -> tuple[float, float, str]:
        placed, seen = 0.0, time.perf_counter()
        appears_s = self._cloud.consistency.appears_s
        failures = patience.Failures(asked + self._wanted.limit_s)
        while True:
            try:
                look = self._poller.next(identity)
            except AferirError as error:
                failures.one(error)  # the poller itself waits before it asks again
                continue
            failures.none()
            now = time.perf_counter()
            if look.stage in ("failed", "gone"):
                said = look.said or "it vanished"
                raise ProgramError(f"{self.provider} could not make an instance: {said}")
            if look.stage != "absent":
                seen = now
            elif now - seen > appears_s:
                said = f"{identity} has been in no answer for {appears_s:g} s"
                raise ProgramError(f"{self.provider} has lost an instance: {said}")
            if look.stage not in ("placing", "absent"):
                placed = placed or now
            if look.stage == "booting" and look.address:
                return placed, now, look.address
            if now - asked > self._wanted.limit_s:
                raise ProgramError(
                    f"an instance of {self.provider} is still {look.stage} after "
                    f"{self._wanted.limit_s:g} s",
                    remedy="look at the cloud's own log, or raise limit_s",
                )


def write(wanted: Wanted, place: str) -> Entry:
    """Announce an instance in the journal."""
    details = {
        "wanted": msgspec.json.encode(wanted).decode(),
        "place": place,
        "owner": known.owner(),
        "asked": str(time.time()),
    }
    return journal.write(KIND, details)


def name_of(entry: Entry) -> str:
    """Name of the instance that an entry announces; it contains the owner."""
    owner = entry.details.get("owner")
    return f"{known.prefix(owner)}{entry.id}" if owner else f"aferir-{entry.id}"


def wanted_of(entry: Entry) -> Wanted:
    """Description of an entry's instance. Errors: UsageError if another version wrote it."""
    try:
        return msgspec.json.decode(entry.details["wanted"], type=Wanted)
    except (KeyError, msgspec.DecodeError) as error:
        raise UsageError(f"the journal's entry {entry.id} is not readable: {error}") from None


def made_of(entry: Entry) -> Made:
    """Known facts about the instance that a journal entry announces."""
    asked = entry.details.get("asked")
    return Made(
        name=name_of(entry),
        identity=entry.details.get("identity", ""),
        age_s=math.inf if asked is None else time.time() - float(asked),
        refused=entry.details.get("refused") == "yes",
    )


def _phases(
    cloud: Provider, placed_s: float, running_s: float, booted_s: float
) -> tuple[Phase, ...]:
    """TeF, TcI and TiI; if placing cannot be observed, it is part of TcI."""
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
            resolution_s=patience.period_s(running_s, cloud.resolution_s),
        )
        for name, seconds in steps.items()
    )
