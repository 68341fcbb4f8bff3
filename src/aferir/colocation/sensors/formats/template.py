"""Parses lines by a template in NGINX's syntax: `$status $request_time "$http_user_agent"`.

A variable extends to the character that follows it in the template; within quotation marks,
characters escaped by a backslash belong to it. Every line is thus parsed in one way or not at all,
and user-supplied text that looks like a field cannot shift the others. Lists of the servers tried
(`$upstream_...`) are one variable each. Source: ngx_http_log_module, ngx_http_upstream_module.
"""

from __future__ import annotations

import functools
import re

import msgspec

from aferir.colocation.sensors import durations, grpc
from aferir.colocation.sensors.heard import ASIDE, FAILED, UNREAD, Heard, Parser, answer, by_status
from aferir.errors import UsageError

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_TIME_NAMES = ("request_time", "upstream_response_time")
_NUMBER = r"\d{1,12}\.\d{1,9}"
"""Matches a time in seconds, which has decimals; a time in other units has none (`_WHOLE`)."""
_WHOLE = r"\d{1,15}"
_TIMES = rf"(?:{_NUMBER}|-)(?: ?[,:] ?(?:{_NUMBER}|-)){{0,50}}"
_LIST = r"[^ ]+(?:(?:(?<=,)| :) [^ ]+)*"
_GRPC = "grpc_status"
_GRPC_ROLES = {
    "": "code",
    "sent_http_": "code_sent",
    "sent_trailer_": "code_trailed",
    "upstream_http_": "code_above",
    "upstream_trailer_": "code_trailed_above",
}
"""Name of the group for gRPC's status, by the prefix of NGINX's variable: it is in the trailer, or
in the header if the call failed at once."""
_STREAM = b"text/event-stream"
_DECLARED = re.compile(r"\s*(?:log_format\s+\S+\s+)?(?:escape=\w+\s+)?(.*?);?\s*", re.DOTALL)


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """A template in NGINX's syntax, and the names of its variables for time and status."""

    text: str
    time: str = "request_time"
    unit_s: float = 1.0
    status: str = "status"


def as_declared(text: str) -> str:
    """Return the format without nginx.conf's syntax: no `log_format NAME`, quoted pieces joined."""
    found = _DECLARED.fullmatch(text)
    text = found[1] if found else text
    pieces = re.findall(r"'((?:[^'\\]|\\.)*)'", text)
    if text.startswith("'") and pieces:
        return re.sub(r"\\(['\"\\])", r"\1", "".join(pieces))
    return text


def chosen(text: str) -> Template:
    """Template of this log format, read for $request_time or else $upstream_response_time.

    Errors: UsageError if it contains neither.
    """
    names = _names(text)
    time = next((name for name in _TIME_NAMES if name in names), "")
    if not time:
        raise UsageError(
            "the log format has neither $request_time nor $upstream_response_time",
            remedy="add one to log_format in nginx.conf, and give the format as it is there",
        )
    return Template(text=text, time=time)


def parser(template: Template) -> Parser:
    """A parser for a template.

    Errors: UsageError if the time is not among the variables, or two variables touch.
    """
    if template.time not in _names(template.text):
        raise UsageError(
            f"the log format has no ${template.time}", remedy="add it to log_format in nginx.conf"
        )
    compiled = re.compile(_pattern(template).encode())
    has_status = "status" in compiled.groupindex
    has_type = "type" in compiled.groupindex
    codes = [role for role in _GRPC_ROLES.values() if role in compiled.groupindex]

    def other_than_answer(found: re.Match[bytes]) -> Heard | None:
        if has_type and _STREAM in found["type"]:
            return ASIDE
        if has_status and (heard := _by_status(found["status"])) is not None:
            return heard
        failed = any(grpc.by_code(found[role].decode("ascii", "replace")) for role in codes)
        return FAILED if failed else None

    def parse(line: bytes) -> Heard:
        found = compiled.fullmatch(line.rstrip())
        if found is None:
            return UNREAD
        if (heard := other_than_answer(found)) is not None:
            return heard
        times = found["time"].decode("ascii", "replace")
        if times.replace(".", "", 1).isdecimal():
            return answer(durations.possible(float(times) * template.unit_s))
        if durations.says_nothing(times):
            return ASIDE
        return answer(durations.total(times.replace(":", ",").replace(",", ", "), template.unit_s))

    return parse


@functools.lru_cache(maxsize=256)
def _by_status(status: bytes) -> Heard | None:
    """Outcome by a request's status; `-`: there was no response; other text cannot be parsed."""
    if re.fullmatch(rb"-?\d{1,6}", status):
        return by_status(int(status))
    return FAILED if status == b"-" else UNREAD


def _names(text: str) -> list[str]:
    return [braced or bare for braced, bare in _VARIABLE.findall(text)]


def _pattern(template: Template) -> str:
    """Regular expression for a template: literal text, and variables up to the next literal."""
    made, end, named, text = "", 0, set[str](), template.text
    for found in _VARIABLE.finditer(text):
        name = found.group(1) or found.group(2)
        if end and found.start() == end:
            raise UsageError(
                f"nothing is between ${name} and the variable before it in the log format",
                remedy="where one ends cannot be known: put a blank between them",
            )
        made += re.escape(text[end : found.start()])
        end = found.end()
        quoted = text[found.start() - 1 : found.start()] == '"' == text[end : end + 1]
        piece = _piece(name, template, quoted=quoted, stop=text[end : end + 1])
        role = _role(name, template)
        made += f"(?P<{role}>{piece})" if role and role not in named else f"(?:{piece})"
        named.add(role)
    return made + re.escape(text[end:].rstrip())


def _role(name: str, template: Template) -> str:
    if name == template.time:
        return "time"
    if name == template.status:
        return "status"
    if name in ("sent_http_content_type", "upstream_http_content_type"):
        return "type"
    return _GRPC_ROLES.get(name.removesuffix(_GRPC), "") if name.endswith(_GRPC) else ""


def _piece(name: str, template: Template, *, quoted: bool, stop: str) -> str:
    time = _TIMES if name != template.time or template.unit_s == 1.0 else _WHOLE
    if name == template.time or (name.startswith("upstream_") and name.endswith("_time")):
        return f"(?:{time})?" if quoted else time  # `escape=json` writes "" for a dash
    if quoted:
        return r'(?:[^"\\]|\\.)*'
    if name.startswith("upstream_") and stop in (" ", ""):
        return _LIST
    return f"[^{re.escape(stop)}]*" if stop else ".*"
