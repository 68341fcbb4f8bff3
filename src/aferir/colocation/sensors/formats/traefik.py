"""Traefik's access log, in its common format and in JSON (Traefik, Observe, access logs)."""

from __future__ import annotations

from aferir.colocation.sensors.formats import fields
from aferir.colocation.sensors.formats.base import Format
from aferir.colocation.sensors.formats.template import Template, parser
from aferir.colocation.sensors.heard import first_of

_COMMON = (
    '$client - $user [$time] "$request" $status $size "$referrer" "$agent" $number $router '
    "$server ${duration}ms"
)

FORMAT = Format(
    name="traefik",
    reads="the duration of its common format, or `Duration` (ns) of its JSON",
    parse=first_of(
        parser(Template(text=_COMMON, time="duration", unit_s=1e-3)),
        fields.parser("Duration", "ns"),
    ),
)
