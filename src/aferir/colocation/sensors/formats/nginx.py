"""Parses NGINX's `combined` with the request time at its end, and ingress-nginx's default."""

from __future__ import annotations

from aferir.colocation.sensors.formats.base import Format
from aferir.colocation.sensors.formats.template import Template, parser
from aferir.colocation.sensors.heard import first_of

COMBINED = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
    '"$http_referer" "$http_user_agent" $request_time'
)
# kubernetes/ingress-nginx, docs/user-guide/nginx-configuration/log-format.md; $req_id came later.
_INGRESS = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
    '"$http_referer" "$http_user_agent" $request_length $request_time '
    "[$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr "
    "$upstream_response_length $upstream_response_time $upstream_status"
)

FORMAT = Format(
    name="nginx",
    reads="`$request_time` at the end of `combined`",
    parse=parser(Template(text=COMBINED)),
)
INGRESS = Format(
    name="ingress-nginx",
    reads="`$request_time` of its default format",
    parse=first_of(
        parser(Template(text=f"{_INGRESS} $req_id")),
        parser(Template(text=_INGRESS)),
        parser(
            Template(text=_INGRESS.replace("[$proxy_alternative_upstream_name] ", "") + " $req_id")
        ),
    ),
)
