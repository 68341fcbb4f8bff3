"""Environments on another host, with the same interface as local ones."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeVar

import msgspec

from aferir.environments.base import Accounting
from aferir.environments.measured import Asked, Measured
from aferir.errors import AferirError
from aferir.hosts import messages
from aferir.hosts.attendant import Attendant
from aferir.hosts.clocks import Clock, Offset
from aferir.hosts.line import Line
from aferir.hosts.opening import STEP_S
from aferir.linux import wait
from aferir.linux.process import Completed
from aferir.measuring import cost
from aferir.model.finding import Finding
from aferir.model.host import HostSpec
from aferir.model.plan import EnvironmentSpec
from aferir.model.record import Series
from aferir.model.stamps import Stamp

_Answer = TypeVar("_Answer")
_PIECE = 4 * 2**20
_GRACE_S = 60.0
"""Time in s that the agent has to end a program, after the program's own time limit."""
_AGAIN_S = 1.0
"""Period in s of attempts to reach a host that is to be cleaned up."""
_CLEAN = "aferir hosts clean FILE"


class Host:
    """A host that is connected at the first request, and again after its connection broke."""

    def __init__(self, spec: HostSpec, attendant: Attendant | None = None) -> None:
        """Store how the host is reached; `attendant` keeps connections alive, None: a new one."""
        self.spec = spec
        self.in_doubt = False
        """True from when an agent failed to end by itself until its host has been cleaned up."""
        self._attendant = attendant
        self._line: Line | None = None

    def line(self) -> Line:
        """Connection to the agent. Errors: MissingError if the host cannot be reached."""
        if self._line is None:
            self._line = Line(self.spec, attendant=self._attendant)
        return self._line

    def lose(self) -> None:
        """Drop the connection; the agent releases what was made over it."""
        if self._line is not None:
            self.in_doubt |= not self._line.close()
            self._line = None

    def close(self, within_s: float = STEP_S) -> list[str]:
        """Close the connection; if the agent may not have cleaned up, reconnect and clean up.

        Connecting is retried for `within_s`, since a rebooting host refuses it at first. Returns
        messages about what could not be removed.
        """
        self.lose()
        if not self.in_doubt:
            return []
        try:
            left = wait.until_it_works(
                self._clean_anew, AferirError, wait.after(within_s), period_s=_AGAIN_S
            )
        except AferirError as error:
            return [f"{error.message}; what this run left there is removed by `{_CLEAN}`"]
        self.in_doubt = bool(left)
        return [f"host {self.spec.name}: {problem}" for problem in left]

    def _clean_anew(self) -> list[str]:
        try:
            return self.clean()
        finally:
            self.lose()

    def environment(self, kind: str) -> RemoteEnvironment:
        """Return the environment of kind `kind` on the host; nothing is allocated yet."""
        return RemoteEnvironment(self, kind)

    @property
    def clock(self) -> Offset | None:
        """Offset of the host's clock from ours, by the last exchange; None while not connected."""
        known = None if self._line is None else self._line.clock
        return None if known is None else known.latest

    def describe(self) -> messages.Host:
        """Description of the host."""
        return self.line().ask(messages.Describe(), messages.Host)

    def identify(self) -> messages.Identity:
        """Name and addresses of the host; connects again if needed."""
        return self.ask(messages.Identify(), messages.Identity)

    def ask(self, request: messages.AnyRequest, answer: type[_Answer]) -> _Answer:
        """Answer to a request, over a new connection if the last one broke.

        Errors: as of `Line.ask`; MissingError where the host cannot be reached.
        """
        try:
            return self.line().ask(request, answer)
        except AferirError:
            if self._line is None or not self._line.broken:
                raise
        self.lose()
        return self.line().ask(request, answer)

    def clean(self) -> list[str]:
        """Clean up after dead agents there; returns messages about what could not be removed."""
        return self.line().ask(messages.Clean(), list[str])


class RemoteEnvironment:
    """Environment of one kind on another host, used through its agent."""

    def __init__(self, host: Host, kind: str) -> None:
        self.kind = kind
        self._host = host

    def check(self) -> list[Finding]:
        """Findings about what the host lacks for it; an unreachable host is a finding too."""
        try:
            found = self._host.line().ask(messages.Check(self.kind), list[Finding])
        except AferirError as error:
            return [Finding(self._host.spec.name, "missing", error.message, error.remedy)]
        name = self._host.spec.name
        return [msgspec.structs.replace(one, message=f"{name}: {one.message}") for one in found]

    def prepare(self, packages: tuple[str, ...] = ()) -> str:
        """Build or find the image on the host; returns its hash."""
        return self._host.line().ask(messages.Prepare(self.kind, packages), str, within_s=3600.0)

    def allocate(self, spec: EnvironmentSpec) -> RemoteInstance:
        """Make an instance there, after reconnecting if needed. Errors: as of the kind itself."""
        return RemoteInstance(spec, *self.request(spec))

    def request(self, spec: EnvironmentSpec) -> tuple[Line, messages.Allocated]:
        """Make an instance there; also returns the connection over which the instance is used."""
        request = messages.Allocate(self.kind, msgspec.json.encode(spec))
        made = self._host.ask(request, messages.Allocated)
        return self._host.line(), made


def by_our_clock(done: Completed, clock: Clock | None) -> Completed:
    """Convert the start time of a result to our clock, and add its largest error."""
    if clock is None:
        return done
    began = clock.stamp(done.started_unix_ns)
    return msgspec.structs.replace(
        done,
        started_unix_ns=began.unix_ns,
        started_bound_ns=began.bound_ns,
        others=tuple(by_our_clock(other, clock) for other in done.others),
    )


def series_by_our_clock(one: Series, clock: Clock | None) -> Series:
    """Convert the time at which a series begins to our clock.

    Its values keep their times since then by the host's own clock, whose rate differs from ours;
    the error bound is widened to hold for all of them.
    """
    if clock is None or one.began is None:
        return one
    began = clock.stamp(one.began.unix_ns)
    last_ns = round(1e9 * max((place for place in one.at if not isinstance(place, str)), default=0))
    last = clock.stamp(one.began.unix_ns + last_ns)
    apart_ns = abs(last.unix_ns - began.unix_ns - last_ns)
    bound_ns = max(began.bound_ns, last.bound_ns + apart_ns) + one.began.bound_ns
    return msgspec.structs.replace(one, began=Stamp(began.unix_ns, bound_ns))


class RemoteInstance:
    """An instance on another host, measured there, so that no messages disturb a run."""

    def __init__(self, spec: EnvironmentSpec, line: Line, made: messages.Allocated) -> None:
        self.spec = spec
        self.phases = made.phases
        self.emulated = made.emulated
        self.accounting = Accounting(own_kernel=made.own_kernel, elsewhere=self.measure)
        self._line = line
        self._number = made.instance

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a program there; same errors as `aferir.linux.process.run`."""
        told = dict(environment or {})
        request = messages.Run(self._number, tuple(command), timeout_s, told, check)
        done = self._line.ask(request, Completed, within_s=(timeout_s or 1e6) + _GRACE_S)
        self._line.look_at_its_clock()
        return by_our_clock(done, self._line.clock)

    def start(self, command: Sequence[str]) -> None:
        """Start a program there and leave it running; `stop` and `release` end it."""
        self._line.tell(messages.Start(self._number, tuple(command)))

    def stop(self) -> None:
        """End all programs that `start` started; returns once they are gone."""
        self._line.tell(messages.Stop(self._number))

    def measure(self, asked: Asked) -> Measured:
        """Run a program between two snapshots of the probes there."""
        request = messages.Measure(
            self._number,
            asked.line,
            asked.timeout_s,
            dict(asked.environment),
            asked.load_period_s,
            accounted=asked.accounted,
            power=self._line.host.power,
        )
        measured = self._line.ask(request, Measured, within_s=asked.timeout_s + _GRACE_S)
        self._line.look_at_its_clock()
        clock = self._line.clock
        if measured.done is None:
            return measured
        return msgspec.structs.replace(
            measured,
            done=by_our_clock(measured.done, clock),
            observed=(
                *measured.observed,
                *cost.samples(self._line.host.price_per_hour, measured.done.duration_s),
            ),
            series=tuple(series_by_our_clock(one, clock) for one in measured.series),
        )

    def put(self, source: Path, destination: PurePosixPath) -> None:
        """Copy a file; its content is sent once, even if it is copied into several instances."""
        self.write(destination, source.read_bytes(), source.stat().st_mode & 0o777)

    def write(self, destination: PurePosixPath, content: bytes, mode: int = 0o644) -> None:
        """Write a file in the instance; its content is sent once, even if it is written often."""
        digest = hashlib.sha256(content).hexdigest()
        if not self._line.ask(messages.Offer(digest), bool):
            for start in range(0, len(content), _PIECE):
                piece = content[start : start + _PIECE]
                self._line.tell(messages.Upload(digest, mode, piece))
            self._line.tell(messages.Upload(digest, mode, b""))
        self._line.tell(messages.Put(self._number, digest, str(destination)))

    def get(self, source: PurePosixPath, destination: Path) -> None:
        """Copy a file of the instance to this host."""
        destination.write_bytes(self._line.ask(messages.Get(self._number, str(source)), bytes))

    def pause(self) -> None:
        """Stop the instance from using any CPU."""
        self._line.tell(messages.Pause(self._number))

    def resume(self) -> None:
        """Undo `pause`."""
        self._line.tell(messages.Resume(self._number))

    def hang_up(self) -> None:
        """End the agent and what runs there; any thread may call it, whose request fails then."""
        self._line.hang_up()

    def release(self) -> float:
        """Release the instance; if the connection is broken, the agent does so by itself."""
        clock = time.perf_counter()
        try:
            return self._line.ask(messages.Release(self._number), float)
        except AferirError:
            if self._line.broken:
                self._line.close()  # returns once the agent has given everything back
            return time.perf_counter() - clock
