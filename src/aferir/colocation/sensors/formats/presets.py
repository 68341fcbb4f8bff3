"""All formats by name, and a search for formats that fit lines which were not understood."""

from __future__ import annotations

from collections.abc import Sequence

from aferir.colocation.sensors.formats import (
    apache,
    caddy,
    envoy,
    haproxy,
    mariadb,
    nginx,
    postgresql,
    search,
    traefik,
)
from aferir.colocation.sensors.formats.base import Format
from aferir.colocation.sensors.heard import Kind

FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        nginx.FORMAT,
        nginx.INGRESS,
        apache.FORMAT,
        haproxy.FORMAT,
        envoy.FORMAT,
        traefik.FORMAT,
        caddy.FORMAT,
        postgresql.FORMAT,
        mariadb.FORMAT,
        search.FORMAT,
    )
}
SYNONYMS = {"mysql": "mariadb", "postgres": "postgresql", "istio": "envoy", "combined": "nginx"}


def named(name: str) -> Format | None:
    """The format with the name or synonym `name`, or None."""
    return FORMATS.get(SYNONYMS.get(name, name))


def fitting(lines: Sequence[bytes]) -> str:
    """Names of the formats that read a response from every one of `lines`; "" if none does."""
    return " or ".join(
        name
        for name, one in FORMATS.items()
        if lines and all(one.parse(line).kind in (Kind.ANSWER, Kind.FAILED) for line in lines)
    )
