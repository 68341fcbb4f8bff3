"""PostgreSQL's log with log_min_duration_statement = 0: plain, CSV or JSON, any log_line_prefix.

The extended protocol logs the phases of one query separately: the durations of parsing and binding
are no responses, nor is the plan that auto_explain writes. Source: PostgreSQL,
runtime-config-logging.
"""

from __future__ import annotations

import re

from aferir.colocation.sensors import durations
from aferir.colocation.sensors.formats.base import Format
from aferir.colocation.sensors.heard import ASIDE, UNREAD, Heard, answer

_DURATION = re.compile(
    rb"(?:(?<![A-Za-z])LOG: {1,2}(?:\w{5}: )?|,LOG,\w{5},\"|\"message\" ?: ?\")"
    rb"duration: (\d{1,12}\.\d{1,6}) ms"
    rb"(?: {2}(parse|bind|plan:))?"
)
_SEVERITY = re.compile(
    rb"(?<![A-Za-z])(?:LOG|ERROR|FATAL|PANIC|WARNING|NOTICE|INFO|DEBUG\d?|STATEMENT|DETAIL|HINT|CONTEXT|QUERY"
    rb"|LOCATION): |\"error_severity\"|,(?:LOG|ERROR|FATAL|PANIC|WARNING),\w{5},"
)

_OTHER_LANGUAGE = re.compile(rb"LOG: {1,2}(?:\w{5}: )?[^\d:]{1,20}: \d+[.,]\d+ ms")
"""Matches a duration in the words of another language (lc_messages), such as `Dauer: 16,596 ms`."""
_GOES_ON = re.compile(rb"(?:\[\d+-(?:[2-9]|\d\d+)\]|(?:\[\d+-\d+\] )?(?:\t|#011))")
"""Start of a line that continues a query; syslog numbers its lines, and writes a tab as `#011`."""


def parse(line: bytes) -> Heard:
    """Parse a line of PostgreSQL's log by its first message, not by the text of a query."""
    if _GOES_ON.match(line):
        return ASIDE
    severity, found = _SEVERITY.search(line), _DURATION.search(line)
    if found is None or (severity is not None and severity.start() < found.start() - 1):
        first_is_json = found is not None and severity is not None and b'"' in severity[0]
        if not first_is_json:
            if severity is None:
                return ASIDE if line[:1].isspace() else UNREAD
            return UNREAD if _OTHER_LANGUAGE.match(line, severity.start()) else ASIDE
    assert found is not None
    return ASIDE if found[2] else answer(durations.seconds(found[1].decode("ascii"), 1e-3))


FORMAT = Format(name="postgresql", reads="`duration: … ms` of each statement", parse=parse)
