"""Default access logs of Envoy and Istio (Envoy, "Access logging"; Istio, MeshConfig)."""

from __future__ import annotations

from aferir.colocation.sensors.formats import fields
from aferir.colocation.sensors.formats.base import Format
from aferir.colocation.sensors.formats.template import Template, parser
from aferir.colocation.sensors.heard import UNREAD, Heard, first_of

_ENVOY = (
    '[$start] "$request" $status $flags $received $sent $duration $service_time '
    '"$forwarded" "$agent" "$id" "$authority" "$host"'
)
_ISTIO = (
    '[$start] "$request" $status $flags $details $termination "$failure" $received $sent '
    '$duration $service_time "$forwarded" "$agent" "$id" "$authority" "$host" '
    "$cluster $local $downstream $remote $server $route"
)
_OLDER_ISTIO = _ISTIO.replace("$details $termination ", "")


def _from_json(line: bytes) -> Heard:
    """A line of Istio's `accessLogEncoding: JSON`, which has Envoy's usual names."""
    document = fields.decoded(line)
    if document is None or not {"duration", "response_flags"} <= document.keys():
        return UNREAD
    return fields.said(document, "duration", 1e-3)


FORMAT = Format(
    name="envoy",
    reads="`%DURATION%` of Envoy's default format or Istio's, text or JSON",
    parse=first_of(
        *(
            parser(Template(text=text, time="duration", unit_s=1e-3))
            for text in (_ENVOY, _ISTIO, _OLDER_ISTIO)
        ),
        _from_json,
    ),
)
