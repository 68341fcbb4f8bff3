"""Reads latencies from a histogram that the service exports for Prometheus."""

from __future__ import annotations

import collections
import http.client
import threading

from aferir.colocation import attributes
from aferir.colocation.histogram import Histogram
from aferir.colocation.sensors import durations
from aferir.colocation.sensors.base import Look
from aferir.colocation.sensors.exposition import (
    Cumulative,
    Labels,
    fell,
    gained,
    largest_bound,
    read_buckets,
    whole,
)
from aferir.colocation.sensors.selector import Selector
from aferir.colocation.sensors.web import fetch, parse_url, redirected
from aferir.errors import AferirError

_MOST_REDIRECTS = 5
_MOST_FALLS = 2
_RECENT = 20
"""Number of latest scrapes that are remembered. Counts fall once after a restart; if they fall in
more than `_MOST_FALLS` scrapes, several processes answer in turn, each with its own counts.
"""
_FALLING = "several processes answer in turn, or it is no counter"
_INSTEAD = {"histogram": "; if it is native, let the service export classic buckets too"}
"""Advice for a metric without buckets, by its declared type."""


class PrometheusSensor:
    """Scrapes in a thread of its own, so that an endpoint that hangs does not block the controller.

    `metric` may select series by their labels (see `Selector`). `unit`: unit of the bounds; by
    default the one in which the metric's name ends, else seconds. `least_bound_s`: the SLA's bound;
    if the largest finite bucket is below it, the histogram cannot tell whether the SLA is met,
    which is reported as a problem. Errors: UsageError if the URL or the selection of series is
    invalid.
    """

    helpers: tuple[int, ...] = ()

    def __init__(
        self,
        url: str,
        metric: str,
        *,
        unit: str | None = None,
        least_bound_s: float = 0.0,
        interval_s: float = 0.5,
        timeout_s: float = 2.0,
    ) -> None:
        self._address = parse_url(url)
        self._selector = Selector.parse(metric)
        unit = unit or durations.unit_of(self._selector.metric) or "s"
        self._unit_s = durations.UNITS[unit]
        self._least_bound_s = least_bound_s
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._before: dict[Labels, Cumulative] = {}
        self._falls: collections.deque[bool] = collections.deque(maxlen=_RECENT)
        self._lock = threading.Lock()
        self._latencies = Histogram()
        self._unread = 0
        self._problem = "not scraped yet"
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._scrape_on, daemon=True)
        self._thread.start()

    def look(self) -> Look:
        """Return what the thread has scraped since the previous call, with its problem."""
        with self._lock:
            latencies, self._latencies = self._latencies, Histogram()
            unread, self._unread = self._unread, 0
            return Look(latencies=latencies, unread=unread, problem=self._problem)

    def close(self) -> None:
        """End the thread that scrapes."""
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
        # ValueError: a host that has no form in IDNA, in a redirect
        except (OSError, http.client.HTTPException, AferirError, ValueError) as error:
            self._note(Histogram(), f"{self._address.host}:{self._address.port}: {error}")
        else:
            self._take(text)

    def _fetch(self) -> str:
        address = self._address
        for _ in range(_MOST_REDIRECTS):
            text, onward = fetch(address, self._timeout_s)
            if not onward:
                return text
            address = redirected(address, onward)
        raise http.client.HTTPException(f"more than {_MOST_REDIRECTS} redirects")

    def _take(self, text: str) -> None:
        metric = self._selector.metric
        scraped = read_buckets(text, self._selector)
        before = self._before
        now = {labels: scraped.series[labels] for labels in whole(scraped.series, before)}
        bound_s = largest_bound(now) * self._unit_s
        broken = scraped.unread + len(scraped.series) - len(now)
        problem = ""
        if not now and not scraped.unread:
            what = _INSTEAD.get(scraped.kind, f"; it is a {scraped.kind}" if scraped.kind else "")
            problem = f"there is no histogram {metric} with these labels{what}"
        elif broken:
            problem = f"{metric}: {broken} of its lines or series cannot be read"
        elif bound_s < self._least_bound_s:
            problem = (
                f"{metric}: its largest bucket ends at {bound_s:g} s and cannot tell "
                f"whether {self._least_bound_s:g} s is kept"
            )
        # The contents of a series at its first scrape are its past and do not count (as in
        # Prometheus): the target has just joined, or an earlier scrape was truncated. A series that
        # was missing for a while continues from its last counts.
        latencies = gained({**now, **before}, now, self._unit_s).latencies
        self._falls.append(fell(before, now))
        if sum(self._falls) > _MOST_FALLS:
            latencies = Histogram()
            problem = f"{metric}: its counts fall again and again: {_FALLING}"
        self._note(latencies, problem, broken)
        self._before = {**before, **now}

    def _note(self, latencies: Histogram, problem: str, unread: int = 0) -> None:
        with self._lock:
            self._unread += unread
            self._latencies.merge(latencies)
            self._problem = problem
