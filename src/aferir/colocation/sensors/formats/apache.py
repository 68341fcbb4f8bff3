"""Parses access logs of Apache and Tomcat by their LogFormat, such as `%h %l %u %t "%r" %>s %b %D`.

Sources: mod_log_config; Tomcat, Access Log Valve, whose `%D` is in milliseconds before version 10.
Whole seconds (`%T`) are too coarse to tell whether a service level is met.
"""

from __future__ import annotations

import re

from aferir.colocation.sensors.durations import UNITS
from aferir.colocation.sensors.formats.base import Format
from aferir.colocation.sensors.formats.template import Template, parser
from aferir.colocation.sensors.heard import Parser
from aferir.errors import UsageError

_DIRECTIVE = re.compile(r"%(?:!?[\d,]+)?([<>]?)(?:\{([^}]*)\})?(\^[a-zA-Z]{2}|[a-zA-Z]|%)")
_TIMES = {"D": 1e-6, "{us}T": 1e-6, "{ms}T": 1e-3}
_REMEDY = "log %D (microseconds), e.g. at the end of `combined`"


def by_log_format(text: str, unit: str | None = None) -> Parser:
    """Make a parser for a LogFormat; `unit`: unit of its `%D` or `%T`, if not Apache's.

    Errors: UsageError if it has no time, or one in whole seconds.
    """
    times = _TIMES if unit is None else {**_TIMES, "D": UNITS[unit], "T": UNITS[unit]}
    text = re.sub(r"^\s*LogFormat\s+", "", text).strip()
    if text.startswith('"') and (found := re.match(r'"((?:[^"\\]|\\.)*)"(?:\s+\w+)?$', text)):
        text = found[1]
    text = text.replace('\\"', '"')
    unit_s, made, end = 0.0, "", 0
    for number, found in enumerate(_DIRECTIVE.finditer(text)):
        made += text[end : found.start()].replace("$", "")
        end = found.end()
        _, argument, letter = found.groups()
        word = f"{{{argument}}}{letter}" if argument else letter
        name = f"v{number}"
        if letter == "s":
            name = "status"
        elif word in times and not unit_s:
            name, unit_s = "time", times[word]
        # mod_log_config puts brackets around %t itself.
        made += f"[${{{name}}}]" if word == "t" else f"${{{name}}}"
    made += text[end:].replace("$", "")
    if not unit_s:
        seconds = "T" in {letter for _, _, letter in _DIRECTIVE.findall(text)}
        raise UsageError(
            "the LogFormat has its time in whole seconds" if seconds else "no time in LogFormat",
            remedy=_REMEDY,
        )
    return parser(Template(text=made, time="time", unit_s=unit_s))


FORMAT = Format(
    name="apache",
    reads="`%D` at the end of `combined`; or a LogFormat in Apache's words",
    parse=by_log_format(r'%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" %D'),
)
