"""Serves EC2 as moto implements it, on a free port of the loopback that is printed first.

Moto (https://docs.getmoto.org) keeps instances, images and subnets of its own. Two things are not
as EC2 has them, and are put right here: the namespace of answers lacks its last slash, and error
documents have one. Moto knows neither client tokens nor filters by them, so that how instances are
found by name is not tested with it.

    python tests/integration/moto_ec2.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

_SPACE = b'xmlns="http://ec2.amazonaws.com/doc/2016-11-15"'
_AS_EC2 = {
    b"<Response " + _SPACE + b">": b"<Response>",
    _SPACE: _SPACE[:-1] + b'/"',
}

_Start = Callable[[str, list[tuple[str, str]]], object]


def as_ec2(application: Any) -> Callable[[dict[str, Any], _Start], Iterable[bytes]]:
    """The application with answers in the namespace of EC2."""

    def answer(environ: dict[str, Any], start: _Start) -> Iterable[bytes]:
        told: list[tuple[str, list[tuple[str, str]]]] = []
        parts = application(environ, lambda status, headers, _=None: told.append((status, headers)))
        body = b"".join(parts)
        for theirs, ours in _AS_EC2.items():
            body = body.replace(theirs, ours)
        (status, headers) = told[0]
        kept = [(key, value) for key, value in headers if key.lower() != "content-length"]
        start(status, [*kept, ("Content-Length", str(len(body)))])
        return [body]

    return answer


def main() -> None:
    """Serve until the process is ended."""
    server = make_server(
        "127.0.0.1", 0, as_ec2(DomainDispatcherApplication(create_backend_app)), threaded=True
    )
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
