"""Sends a service its load, in an open or a closed loop, from this host or from another one.

On another host the load generator is started by the program that `model.variables.ENTER` names.
There it disturbs neither service nor batch work (Oliveira 2022 drives both from a third machine).
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from aferir.colocation import admission, attributes
from aferir.colocation.histogram import Histogram
from aferir.colocation.settings import Latency, Schedule, Sla
from aferir.colocation.trials.service import LOOPBACK, Running
from aferir.errors import ProgramError
from aferir.linux import process, scratch
from aferir.programs.kernels import finite, kernel_path, positive, read_figures
from aferir.programs.others import others

_PATIENCE_S = 5.0
_FIRST = attributes.of(Schedule(policy="deadline", runtime_s=0.0002, period_s=0.002, reclaim=True))
"""Scheduling attributes of the load generator. It represents users elsewhere, and so must send when
a request is due. SCHED_FIFO would let it wait behind reservations, so it has a reservation with the
shortest period. That is a tenth of a CPU; beyond it, the generator may use bandwidth that nobody
has reserved, as otherwise it was throttled. A larger reservation would be taken from the services
(docs/decisions/users-who-are-not-throttled.md)."""
_WHEN_TOLD = ("sh", "-c", 'read -r told && exec "$@"', "sh")
"""Shell script that runs a command once a line is written to it, so that the command gets its
reservation before a policy reserves all that is left.
"""
_ELSEWHERE = """
cd "$AFERIR_PROGRAMS" && printf %s {targets} > urls-$$ &&
./request-clients --urls urls-$$ --log asked-$$ {options} && cat asked-$$; code=$?
rm -f urls-$$ asked-$$; exit $code
"""
"""Shell commands that run the load generator on the other host, in its agent's folder."""


class Crowd(msgspec.Struct, frozen=True):
    """Users of a closed loop: each thinks after an answer, then sends a request, as in Faban.

    They begin one after another during the warm-up.
    """

    users: int
    think_s: float = 0.0
    """Mean time to think in seconds; the times are exponentially distributed."""


Rate = float | str | Crowd
"""A load: requests per second, steps `S:N,...` as for `request-clients --rate`, or users."""


class Asked(msgspec.Struct, frozen=True):
    """One request: intended time in seconds from the start of the load, and latency."""

    intended_s: float
    latency_s: float
    status: int
    url: int


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What a load measured: latencies of requests, and the load generator's own use of CPUs."""

    asked: tuple[Asked, ...]
    healthy: bool
    """Whether the load generator sent its requests on time."""
    failed: int
    cpus: float = 0.0
    """CPUs that the load generator used."""

    def latencies(self) -> Histogram:
        """Latencies of all requests after the warm-up."""
        return Histogram(one.latency_s for one in self.asked)

    def latency(self, sla: Sla) -> Latency | None:
        """The SLA's quantile; None if there are too few responses for an interval."""
        return self.latencies().quantile(sla.quantile)

    def meets(self, sla: Sla) -> bool:
        """Whether the whole interval of the quantile is within the bound."""
        found = self.latency(sla)
        return found is not None and found.high_s <= sla.bound_s


class Times(msgspec.Struct, frozen=True):
    """Durations of warm-up, measurement, and ramp-down (the load that continues after it)."""

    warm_up_s: float = 2.0
    measured_s: float = 6.0
    ramp_down_s: float = 0.0

    @property
    def whole_s(self) -> float:
        """Duration of the load in seconds."""
        return self.warm_up_s + self.measured_s + self.ramp_down_s


class Users(msgspec.Struct, frozen=True):
    """Place from which requests are sent."""

    host: str = ""
    """Name of another host; empty: this one."""
    address: str = LOOPBACK
    """Address at which the load generators reach the service."""
    enter: str = ""
    """Program that runs a command on the other host."""


def users() -> Users:
    """Return the second host if the environment has several, else this one.

    Errors: MissingError if the first host has no address that others reach.
    """
    found = others()
    return Users() if found is None else Users(found.names[0], found.address, found.enter)


class Waiting(Protocol):
    """A load generator that waits for `begin`."""

    def begin(self) -> None:
        """Let the load generator send requests from now on."""

    def result(self) -> Load:
        """Wait until the load generator has ended, and read its results. Errors: ProgramError."""


Loader = Callable[[Running, Rate, Times, int, Path], AbstractContextManager[Waiting]]
"""Function that starts a load generator, as `generator` does, and ends it after the block."""


class Generator(msgspec.Struct, frozen=True):
    """Handle of a `request-clients` that waits for `begin`."""

    child: subprocess.Popen[str]
    log: Path | None
    """File to which the requests are logged; None: the output lists them after the figures."""

    def begin(self) -> None:
        """Let the load generator send requests from now on."""
        tell(self.child)

    def result(self) -> Load:
        """Wait until the load generator has ended, and read its results. Errors: ProgramError."""
        said, errors = self.child.communicate()
        if self.child.returncode != 0:
            raise ProgramError(f"request-clients failed: {errors.strip()[-300:]}")
        figures, _, rest = said.partition("\n")
        lines = rest.encode() if self.log is None else self.log.read_bytes()
        return _read(figures, lines)


def ask(service: Running, rate: Rate, times: Times, seed: int) -> Load:
    """Send requests until the load ends. Errors: ProgramError, UnverifiedError."""
    with scratch.folder() as folder, generator(service, rate, times, seed, folder) as started:
        started.begin()
        return started.result()


@contextmanager
def generator(
    service: Running, rate: Rate, times: Times, seed: int, folder: Path
) -> Iterator[Generator]:
    """Start the load generator, and end it after the block. Errors: ProgramError, MissingError."""
    where = users()
    made = _there if where.host else _here
    started = made(service, (rate, times, seed), folder, where)
    try:
        yield started
    finally:
        process.end(started.child)


def _here(service: Running, asked: tuple[Rate, Times, int], folder: Path, _: Users) -> Generator:
    urls, log = folder / "urls", folder / "asked"
    urls.write_text(_targets(service, LOOPBACK))
    program = str(kernel_path("request-clients"))
    words = [program, "--urls", str(urls), "--log", str(log), *_options(*asked)]
    return Generator(start_first(words), log)


def start_first(words: list[str]) -> subprocess.Popen[str]:
    """Start a load generator that waits for a line, with the scheduling of users elsewhere.

    Errors: ProgramError if the kernel refuses its reservation.
    """
    child = _start(words)
    admission.sound_bandwidth()  # an account below 0 admits nobody
    try:
        attributes.write(child.pid, _FIRST)
    except OSError as error:
        process.end(child)
        raise ProgramError(
            "the load generator cannot be scheduled as users elsewhere are:"
            f" {attributes.explain(error)}",
            remedy="end what else has deadline reservations (SCHED_DEADLINE) on this machine",
        ) from None
    return child


def _there(service: Running, asked: tuple[Rate, Times, int], _: Path, where: Users) -> Generator:
    targets = shlex.quote(_targets(service, where.address))
    told = _ELSEWHERE.format(targets=targets, options=shlex.join(_options(*asked)))
    return Generator(_start([where.enter, where.host, told]), None)


def _targets(service: Running, address: str) -> str:
    lines = "".join(f"{weight} {url}\n" for weight, url in service.targets)
    return lines.replace(LOOPBACK, address)


def _options(rate: Rate, times: Times, seed: int) -> list[str]:
    return [
        *_loop(rate),
        *("--seed", str(seed), "--patience", f"{_PATIENCE_S:g}"),
        *("--warm-up", f"{times.warm_up_s:g}", "--ramp-down", f"{times.ramp_down_s:g}"),
        *("--duration", f"{times.whole_s:g}"),
    ]


def _loop(rate: Rate) -> tuple[str, ...]:
    """Options of `request-clients` that make this load, in a closed or an open loop."""
    if isinstance(rate, Crowd):
        return ("--users", str(rate.users), "--think", f"{rate.think_s:g}")
    return ("--rate", str(rate))


def tell(child: subprocess.Popen[str]) -> None:
    """Let a load generator that waits for a line send requests from now on."""
    assert child.stdin is not None
    child.stdin.write("now\n")
    child.stdin.flush()


def _start(words: list[str]) -> subprocess.Popen[str]:
    return process.start(
        [*_WHEN_TOLD, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _read(said: str, lines: bytes) -> Load:
    figures = read_figures(said, "request-clients")
    decoder = msgspec.json.Decoder(Asked)
    return Load(
        asked=tuple(map(decoder.decode, lines.splitlines())),
        healthy=figures.get("healthy") is True,
        failed=round(finite(figures, "failed")),
        cpus=finite(figures, "cpu_s") / positive(figures, "duration_s"),
    )
