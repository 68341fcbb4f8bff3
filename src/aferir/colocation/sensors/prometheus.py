"""Latencies from a histogram that the service exports for Prometheus."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Mapping

from aferir.colocation import attributes
from aferir.colocation.histogram import Histogram
from aferir.colocation.sensors.base import Look
from aferir.colocation.sensors.exposition import (
    Cumulative,
    Labels,
    gained,
    largest_bound,
    read_buckets,
)
from aferir.colocation.sensors.web import MOST_BYTES, parse_url


class PrometheusSensor:
    """Scrapes on a thread of its own, so that an endpoint that hangs does not hang the control.

    `unit_s`: seconds in one unit of the metric's bounds. `least_bound_s`: where the largest
    finite bound is below it (an SLA), the histogram cannot tell whether the SLA is kept; that is
    a problem and not a guess.
    Errors: UsageError for a URL that is none.
    """

    helpers: tuple[int, ...] = ()

    def __init__(
        self,
        url: str,
        metric: str,
        *,
        labels: Mapping[str, str] | None = None,
        unit_s: float = 1.0,
        least_bound_s: float = 0.0,
        interval_s: float = 0.5,
        timeout_s: float = 2.0,
    ) -> None:
        self._address = parse_url(url)
        self._metric = metric
        self._labels = labels or {}
        self._unit_s = unit_s
        self._least_bound_s = least_bound_s
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._before: dict[Labels, Cumulative] | None = None
        self._lock = threading.Lock()
        self._latencies = Histogram()
        self._problem = "not scraped yet"
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._scrape_on, daemon=True)
        self._thread.start()

    def look(self) -> Look:
        """See `Sensor`."""
        with self._lock:
            latencies, self._latencies = self._latencies, Histogram()
            return Look(latencies=latencies, problem=self._problem)

    def close(self) -> None:
        """See `Sensor`."""
        self._ends.set()
        self._thread.join(self._timeout_s + self._interval_s)

    def _scrape_on(self) -> None:
        with attributes.going_first():
            while not self._ends.is_set():
                self._scrape()
                self._ends.wait(self._interval_s)

    def _scrape(self) -> None:
        try:
            text = self._fetch()
        except (OSError, http.client.HTTPException) as error:
            self._note(Histogram(), f"{self._address.host}:{self._address.port}: {error}")
        else:
            self._take(text)

    def _fetch(self) -> str:
        address = self._address
        connection = http.client.HTTPConnection(address.host, address.port, timeout=self._timeout_s)
        try:
            connection.request("GET", address.path, headers={"Accept": "text/plain"})
            answer = connection.getresponse()
            if answer.status != http.client.OK:
                raise http.client.HTTPException(f"status {answer.status}")
            return answer.read(MOST_BYTES).decode("utf-8", "replace")
        finally:
            connection.close()

    def _take(self, text: str) -> None:
        now = read_buckets(text, self._metric, self._labels)
        bound_s = largest_bound(now) * self._unit_s
        problem = ""
        if not now:
            problem = f"there is no histogram {self._metric} with these labels"
        elif bound_s < self._least_bound_s:
            problem = (
                f"{self._metric}: its largest bucket ends at {bound_s:g} s and cannot tell "
                f"whether {self._least_bound_s:g} s is kept"
            )
        # What the first scrape holds is the past; a series that comes later is new.
        before = now if self._before is None else self._before
        self._note(gained(before, now, self._unit_s).latencies, problem)
        if now:
            self._before = now

    def _note(self, latencies: Histogram, problem: str) -> None:
        with self._lock:
            self._latencies.merge(latencies)
            self._problem = problem
