"""HAProxy's HTTP log (configuration manual, 8.2.3): the time from accept to the last byte.

This is the fifth time of `TR/Tw/Tc/Tr/Ta`; a time with a plus was logged before the end and is no
response time. Lines of TCP proxies contain lifetimes of connections.
"""

from __future__ import annotations

import re

from aferir.colocation.sensors import durations
from aferir.colocation.sensors.formats.base import Format
from aferir.colocation.sensors.heard import ASIDE, FAILED, UNREAD, Heard, answer, by_status

_START = rb"(?:\S{1,100}: )?\S+:\d+ \[[^\]]+\] [^ ]+ [^ /]+/[^ ]+ "
_HTTP = re.compile(
    _START + rb"(?:-?\d+/){4}(?P<plus>\+?)(?P<time>-?\d+) (?P<status>-?\d{1,3}) \+?\d+ \S+ \S+ "
    rb"(?P<end>\S{4}) .*"
)
_CLF = re.compile(
    rb'\S+ - - \[[^\]]+\] "(?:[^"\\]|\\.)*" (?P<status>-?\d{1,3}) \+?\d+ "" "" \d+ \\?\d+ '
    rb'(?:"[^"]*" ){3}\\?(?:-?\d+ ){4}(?P<plus>\+?)(?P<time>-?\d+) (?P<end>\S{4}) .*'
)
"""Matches lines of `option httplog clf`; older versions write a backslash before some of its
numbers.
"""
_TCP = re.compile(_START + rb"(?:-?\d+/){2}\+?-?\d+ \d+ \S\S \d+/.*")
_EVENT = re.compile(
    rb"(?:Connect from \S+ to |(?:Backup )?Server \S+ is |Health check for |Proxy \S+ "
    rb"|backend \S+ has |\S+:\d+ \[[^\]]+\] [^ /]+/[^ ]+: ).*"
)
"""Matches reports of connections without a request (8.2.1, 8.2.5), or of changes of servers and
proxies."""


def parse(line: bytes) -> Heard:
    """Parse a line of HAProxy's log; a request that was cut short (`CD--`, `sH--`) has failed."""
    found = _HTTP.fullmatch(line) or _CLF.fullmatch(line)
    if found is None:
        return ASIDE if _TCP.fullmatch(line) or _EVENT.fullmatch(line) else UNREAD
    heard = by_status(int(found["status"]))
    if heard is not None:
        return heard
    if found["plus"]:
        return ASIDE
    if found["end"][:1] not in (b"-", b"L"):
        return FAILED
    return answer(durations.seconds(found["time"].decode("ascii"), 1e-3))


FORMAT = Format(
    name="haproxy", reads="`Ta` (older: `Tt`) of `option httplog`, also `clf`", parse=parse
)
