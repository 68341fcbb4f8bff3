"""Declares each way to name a source of latencies in `--latency`, and starts its sensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from aferir.colocation.sensors import durations
from aferir.colocation.sensors.base import Sensor
from aferir.colocation.sensors.formats import apache, expression, fields, presets, template
from aferir.colocation.sensors.heard import Parser
from aferir.colocation.sensors.log import LogSensor
from aferir.colocation.sensors.probe import Probe
from aferir.colocation.sensors.prometheus import PrometheusSensor
from aferir.colocation.sensors.web import STORES
from aferir.colocation.settings import Sla
from aferir.errors import UsageError


class Address(msgspec.Struct, frozen=True):
    """An address `KIND:PLACE#WHAT`, whole and in its parts."""

    text: str
    kind: str
    place: str
    what: str


Start = Callable[[Address, Sla, Sequence[str]], Sensor]
"""Function that starts a sensor; its expressions match lines that are no responses. Errors:
UsageError.
"""
Reading = Callable[[Address], Parser]
"""Function that makes the parser of one line of a log. Errors: UsageError."""


class Scheme(msgspec.Struct, frozen=True, kw_only=True):
    """One way to name the source of latencies."""

    kinds: tuple[str, ...]
    """Words that may stand before the colon of an address."""
    form: str
    """Notation of an address, for messages."""
    start: Start
    has_lines: bool = False
    """Whether the source is a log, of which lines can be left out."""


def sensor(text: str, sla: Sla, no_answer: Sequence[str] = ()) -> Sensor:
    """Start the sensor that reads the service's latencies. Errors: UsageError.

    `no_answer`: regular expressions for lines of a log that are no responses.
    """
    kind, _, rest = text.partition(":")
    place, _, what = rest.partition("#")
    address, scheme = Address(text, kind, place, what), _BY_KIND.get(kind)
    if no_answer and (scheme is None or not scheme.has_lines):
        raise UsageError(
            f"--no-answer chooses lines of a log, and {text} is none",
            remedy='choose series by their labels: prometheus:URL#METRIC{path!~"/poll.*"}',
        )
    if scheme is None or not place:
        raise _nowhere(address)
    return scheme.start(address, sla, no_answer)


def _nowhere(address: Address) -> UsageError:
    forms = ", ".join(scheme.form for scheme in SCHEMES)
    return UsageError(f"--latency {address.text}: not where latencies are", remedy=forms)


def _probe(address: Address, sla: Sla, _: Sequence[str]) -> Sensor:
    return Probe(address.text, patience_s=5 * sla.bound_s)


def _scrape(address: Address, sla: Sla, _: Sequence[str]) -> Sensor:
    if not address.what:
        raise _nowhere(address)
    name, unit = _unit(address.what)
    return PrometheusSensor(address.place, name, unit=unit, least_bound_s=sla.bound_s)


def _log(form: str, reading: Reading, *kinds: str) -> Scheme:
    """Scheme of log files whose lines are read by the parser that `reading` makes."""

    def start(address: Address, _: Sla, no_answer: Sequence[str]) -> Sensor:
        parser = expression.except_lines(reading(address), no_answer)
        return LogSensor(Path(address.place), parser)

    return Scheme(kinds=kinds, form=form, start=start, has_lines=True)


def _field(make: Callable[[str, str | None], Parser]) -> Reading:
    """Makes a parser that takes the latency from the field or expression named in the address."""

    def parser(address: Address) -> Parser:
        name, unit = _unit(address.what)
        if not name:
            raise _nowhere(address)
        return make(name, unit)

    return parser


def _preset(address: Address) -> Parser:
    preset = presets.named(address.what or address.kind)
    if preset is None:
        raise UsageError(
            f"--latency {address.text}: `{address.what}` is no format of a log",
            remedy=f"one of {', '.join(presets.FORMATS)}, or nginx:PATH#FORMAT in NGINX's words",
        )
    return preset.parse


def _preset_or(declared: Callable[[str], Parser]) -> Reading:
    """Makes a parser of a format by its name, or as the server's configuration declares it."""

    def parser(address: Address) -> Parser:
        preset = presets.named(address.what or address.kind)
        return declared(address.what) if preset is None else preset.parse

    return parser


def _unit(text: str) -> tuple[str, str | None]:
    """Name and unit of a latency field: `took@ms` is in ms; without a unit the sensor infers it."""
    name, at, unit = text.rpartition("@")
    return (name, unit) if at and unit in durations.UNITS else (text, None)


_NAMED = (*presets.FORMATS, *presets.SYNONYMS)
_OWN = ("nginx", "apache")
"""Servers whose log format may be given in the syntax of their own configuration."""
SCHEMES = (
    _log("slowlog:PATH", _preset, *(name for name in _NAMED if name not in _OWN)),
    _log(
        "nginx:PATH[#FORMAT]",
        _preset_or(lambda what: template.parser(template.chosen(template.as_declared(what)))),
        "nginx",
    ),
    _log(
        "apache:PATH[#FORMAT@ms]",
        _preset_or(lambda what: apache.by_log_format(*_unit(what))),
        "apache",
    ),
    _log("json:PATH#FIELD@ms", _field(fields.parser), "json"),
    _log("regex:PATH#EXPRESSION@ms", _field(expression.parser), "regex"),
    Scheme(kinds=("prometheus",), form="prometheus:URL#METRIC@s", start=_scrape),
    Scheme(kinds=("http",), form="http://HOST:PORT/PATH", start=_probe),
    Scheme(kinds=STORES, form="memcached:// or redis://HOST:PORT/KEY", start=_probe),
)
_BY_KIND = {kind: scheme for scheme in SCHEMES for kind in scheme.kinds}
