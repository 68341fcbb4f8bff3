"""Slow logs of Elasticsearch (1 to 8) and OpenSearch, plain or JSON: the query phase of searches.

Lines of the fetch phase report the same search again, and those of indexing are no searches.
Source: Elasticsearch and OpenSearch references, "Search slow log".
"""

from __future__ import annotations

import functools
import re

from aferir.colocation.sensors import durations
from aferir.colocation.sensors.formats import fields
from aferir.colocation.sensors.formats.base import Format
from aferir.colocation.sensors.heard import ASIDE, UNREAD, Heard, answer

# What is before the time: moment, level, logger, node, index and shard, each in brackets.
_PLAIN = re.compile(
    rb"\[[^\]]{1,64}\] ?\[[^\]]{1,16}\] ?\[([^\]]{1,200})\] ?(?:\[[^\]]{0,300}\] ?){1,4}"
    rb"took\[([^\]]{1,40})\]"
)
_TOOK = ("elasticsearch.slowlog.took", "took")
_LOGGER = ("log.logger", "component", "logger", "event.dataset", "type")
_OTHER = re.compile(r"fetch|index_indexing|indexing\.slowlog|\bi\.i\.s\b|\bi\.i\.slowlog\b")


def parse(line: bytes) -> Heard:
    """Parse a line of a slow log of Elasticsearch or OpenSearch, plain or JSON."""
    if line[:1] == b"{":
        document = fields.decoded(line)
        return UNREAD if document is None else _from_json(document)
    found = _PLAIN.match(line)
    if found is None:
        return UNREAD
    if _is_other(found[1]):
        return ASIDE
    return answer(durations.seconds(found[2].decode("utf-8", "replace")))


@functools.lru_cache(maxsize=256)
def _is_other(logger: bytes) -> bool:
    """Whether a logger reports no searches, or their fetch phase; cached, as loggers are few."""
    return _OTHER.search(logger.decode("utf-8", "replace")) is not None


def _from_json(document: dict[str, object]) -> Heard:
    took = next((one for name in _TOOK if (one := fields.look_up(document, name))), None)
    if not isinstance(took, str):
        return UNREAD
    if any(_OTHER.search(str(fields.look_up(document, name))) for name in _LOGGER):
        return ASIDE
    return answer(durations.seconds(took))


FORMAT = Format(name="slowlog", reads="`took` of the query phase", parse=parse)
