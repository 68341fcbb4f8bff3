"""Selects series of a metric as in PromQL: `m{verb!="WATCH",path=~"/api.*"}`.

Source: Prometheus documentation, "Querying basics", time series selectors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from aferir.errors import UsageError

_WHOLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:.]*)\s*(?:\{(.*)\})?")
_QUOTED = re.compile(r"\{\s*\"((?:[^\"\\]|\\.)+)\"\s*(?:,(.*))?\}")
"""Matches the form of Prometheus 3, for names with other characters: `{"http.duration",
verb="GET"}`.
"""
_MATCHER = re.compile(
    r"\s*([a-zA-Z_][a-zA-Z0-9_.]*)\s*(=~|!~|!=|=)\s*"
    r"(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)')\s*(?:,|$)"
)
_REMEDY = 'e.g. prometheus:URL#request_seconds{verb!="WATCH"}@s'


class Matcher(msgspec.Struct, frozen=True):
    """One condition on a label; a label that a series does not have counts as empty."""

    label: str
    is_equal: bool
    pattern: re.Pattern[str]

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether a series with these `labels` meets the condition."""
        found = self.pattern.fullmatch(labels.get(self.label, "")) is not None
        return found == self.is_equal


class Selector(msgspec.Struct, frozen=True):
    """Name of a histogram, without the `_bucket` of its series, and conditions on labels."""

    metric: str
    matchers: tuple[Matcher, ...] = ()

    @classmethod
    def parse(cls, written: str) -> Selector:
        """Parse `METRIC{LABEL="VALUE"}` or `{"METRIC",LABEL="VALUE"}`. Errors: UsageError."""
        whole = _WHOLE.fullmatch(written.strip()) or _QUOTED.fullmatch(written.strip())
        if whole is None:
            raise UsageError(f"`{written}` names no metric", remedy=_REMEDY)
        metric, inside = whole[1].removesuffix("_bucket"), whole[2] or ""
        matchers, place = [], 0
        while place < len(inside.rstrip()):
            found = _MATCHER.match(inside, place)
            if found is None:
                raise UsageError(f"`{inside[place:]}` is no choice of labels", remedy=_REMEDY)
            matchers.append(_matcher(found))
            place = found.end()
        return cls(metric, tuple(matchers))

    def means(self, labels: Mapping[str, str]) -> bool:
        """Whether a series with these `labels` is selected."""
        return all(one.holds(labels) for one in self.matchers)


def _matcher(found: re.Match[str]) -> Matcher:
    label, operator, double, single = found.groups()
    text = re.sub(r"\\(.)", r"\1", double if double is not None else single)
    if operator in ("=", "!="):
        return Matcher(label, operator == "=", re.compile(re.escape(text)))
    raw = (double if double is not None else single).replace("\\\\", "\\")
    try:
        return Matcher(label, operator == "=~", re.compile(raw, re.DOTALL))
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"`{raw}` is no regular expression: {error}", remedy=_REMEDY) from None
