"""Measures latency by sending requests at intended times, independently of earlier responses.

A request's latency counts from the time at which it was due. Sending the next request only after a
response would omit the times at which the service is slow (coordinated omission).

The requests are sent by `request-clients` in a process of its own: in Python, a request would take
more CPU time than the controller may use, and a due request must not wait for a decision.
"""

from __future__ import annotations

import os
import subprocess
import time

import msgspec

from aferir.colocation import attributes
from aferir.colocation.histogram import Histogram
from aferir.colocation.sensors.base import Look
from aferir.colocation.sensors.web import REDIRECTS, Question, question
from aferir.linux import process
from aferir.programs.kernels import kernel_path

_MOST_OPEN = 256
_REUSE = 4
"""Number of requests per connection. Reuse saves most of the cost of new connections. The number is
small, so that other workers are soon reached, and a service with few connections is hardly short of
one.
"""
_DURATION_S = 1_000_000
"""Seconds after which `request-clients` ends; it is then started anew."""
_AGAIN_S = 1.0
_MOVED = "it redirects to https or to another name, which is not asked: give that URL itself"
_BYTES = 1 << 18
"""Bytes read at once, more than a pipe holds."""


class _Asked(msgspec.Struct, frozen=True):
    """One request as reported by `request-clients --log -`."""

    latency_s: float
    failure: str = ""
    status: int = 0
    """Status of the answer, after the redirects that were followed; 0 if there was none."""


class Probe:
    """Sends requests to `url`, `rate` per second on average, at exponential intervals.

    Constant intervals could fall into step with the periods of a scheduler. A request that fails
    (refused, reset, status 400 or above) or takes longer than `patience_s` counts as failed, with a
    latency of at least `patience_s`, so that quick refusals do not look fast. Create it in the main
    thread, as the helper ends with the thread that started it (see `process.start`). Errors:
    UsageError if the URL is invalid or its host unknown; MissingError if the helper is missing.
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
        """Process ID of the program that sends the requests."""
        return (self._child.pid,)

    def look(self) -> Look:
        """Read outcomes of requests since the previous call; failures are latencies, too."""
        asked = self._decoder.decode_lines(self._lines())
        if asked:
            self._problem = asked[-1].failure or (_MOVED if asked[-1].status in REDIRECTS else "")
        return Look(
            latencies=Histogram(one.latency_s for one in asked),
            failed=sum(bool(one.failure) for one in asked),
            failed_within=True,
            problem=f"{self._url}: {self._problem}" if self._problem else "",
        )

    def close(self) -> None:
        """End the program that sends the requests."""
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
        """Complete lines written since the last call; restarts the helper if it has ended.

        A helper that was started less than a second ago is not restarted yet, as it would end
        again.
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
