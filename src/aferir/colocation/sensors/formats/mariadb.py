"""The slow query log of MariaDB and MySQL: `# Query_time` of each entry of several lines."""

from __future__ import annotations

import re

from aferir.colocation.sensors import durations
from aferir.colocation.sensors.formats.base import Format
from aferir.colocation.sensors.heard import ASIDE, FAILED, UNREAD, Heard, answer

_QUERY = re.compile(
    rb"# Query_time: (\d{1,9}(?:\.\d{1,9})?)\s+Lock_time: \d+(?:\.\d+)?\s+Rows_sent: \d"
    rb"(?:.*\bErrno: (\d+))?"
)
_MARK = b"# Query_time:"


def parse(line: bytes) -> Heard:
    """Parse a line of the slow query log; only its line with `Query_time` is a response."""
    found = _QUERY.match(line)
    if found is None:
        return UNREAD if line.startswith(_MARK) else ASIDE
    if found[2] and int(found[2]):
        return FAILED  # log_slow_extra of MySQL 8
    return answer(durations.seconds(found[1].decode("ascii")))


FORMAT = Format(
    name="mariadb", reads="`Query_time` of the slow query log (MySQL's, too)", parse=parse
)
