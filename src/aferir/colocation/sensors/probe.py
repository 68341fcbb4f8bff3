"""Latency by asking: a request at each of many intended moments, whatever became of others.

A request counts from the moment at which it was to be sent. Asking again only after an answer
would leave out the moments in which the service is slow (coordinated omission).

`request-clients` asks, in a process of its own: what the interpreter takes for a request is more
than the controller may cost, and a request that is due does not wait for a decision.
"""

from __future__ import annotations

import os
import subprocess
import time

import msgspec

from aferir.colocation import attributes
from aferir.colocation.histogram import Histogram
from aferir.colocation.sensors.base import Look
from aferir.colocation.sensors.web import Question, question
from aferir.linux import process
from aferir.programs.kernels import kernel_path

_MOST_OPEN = 256
_REUSE = 4
"""Requests of one connection: most of the cost of a new one is saved, other workers of the service
are asked soon, and a service with few connections keeps hardly one for us."""
_DURATION_S = 1_000_000
"""Longer it does not go on by itself; it is begun again then."""
_AGAIN_S = 1.0
_BYTES = 1 << 18
"""More than a pipe holds."""


class _Asked(msgspec.Struct, frozen=True):
    """One request, as `request-clients --log -` tells of it."""

    latency_s: float
    failure: str = ""


class Probe:
    """Asks `url` `rate` times a second on average, at exponential distances.

    Equal distances would fall into step with the periods of a scheduler. A request that fails
    (refused, broken off, status of 400 or above) or takes longer than `patience_s` is counted as
    failed, and as a latency of at least `patience_s`: a quick refusal is no quick answer.
    Make it in the main thread, with which what asks ends (see `process.start`).
    Errors: UsageError for a URL that is none, or a host that is not known; MissingError.
    """

    def __init__(
        self, url: str, *, rate: float = 10.0, patience_s: float = 1.0, seed: int | None = None
    ) -> None:
        self._url = url
        self._command = _command(question(url), rate, patience_s, seed)
        self._decoder = msgspec.json.Decoder(_Asked)
        self._problem = ""
        self._begin()

    @property
    def helpers(self) -> tuple[int, ...]:
        """See `Sensor`."""
        return (self._child.pid,)

    def look(self) -> Look:
        """See `Sensor`; a failed request is among the latencies too."""
        asked = self._decoder.decode_lines(self._lines())
        if asked:
            self._problem = asked[-1].failure
        return Look(
            latencies=Histogram(one.latency_s for one in asked),
            failed=sum(bool(one.failure) for one in asked),
            failed_within=True,
            problem=f"{self._url}: {self._problem}" if self._problem else "",
        )

    def close(self) -> None:
        """See `Sensor`."""
        process.end(self._child)

    def _begin(self) -> None:
        self._child = process.start(self._command, stdout=subprocess.PIPE)
        assert self._child.stdout is not None
        self._pipe = self._child.stdout.fileno()
        os.set_blocking(self._pipe, False)
        self._began_s = time.monotonic()
        self._rest = b""
        attributes.put_first(self._child.pid)

    def _lines(self) -> bytes:
        """Whole ones that came since the last look; whoever writes them is begun again if need be.

        Not at once if it has only just been begun: it would end again.
        """
        try:
            came = os.read(self._pipe, _BYTES)
        except BlockingIOError:
            return b""
        if not came:
            self._problem = "who asks has ended"
            if time.monotonic() - self._began_s > _AGAIN_S:
                process.end(self._child)
                self._begin()
            return b""
        whole, end, rest = (self._rest + came).rpartition(b"\n")
        self._rest = rest
        return whole + end


def _command(asked: Question, rate: float, patience_s: float, seed: int | None) -> list[str]:
    """The command line of `request-clients`."""
    number = int.from_bytes(os.urandom(3)) if seed is None else seed
    several = ("--addresses", ",".join(asked.addresses)) if len(asked.addresses) > 1 else ()
    return [
        *(str(kernel_path("request-clients")), "--url", asked.url, "--host", asked.host),
        *several,
        *("--rate", f"{rate:g}", "--patience", f"{patience_s:g}", "--seed", str(number)),
        *("--connections", str(_MOST_OPEN), "--reuse", str(_REUSE)),
        *("--duration", str(_DURATION_S), "--log", "-"),
    ]
