"""Classifies gRPC calls: their HTTP status is 200 whether they succeed or not.

Sources: gRPC, "Status codes and their use in gRPC"; OpenTelemetry, semantic conventions for gRPC,
which name the codes that are errors of the server; go-grpc-middleware, whose logs name the type of
a method.
"""

from __future__ import annotations

from aferir.colocation.sensors.heard import FAILED, Heard

_FAILED = {
    1: "CANCELLED",  # the client gave up, as with status 499 of NGINX
    2: "UNKNOWN",
    4: "DEADLINE_EXCEEDED",
    12: "UNIMPLEMENTED",
    13: "INTERNAL",
    14: "UNAVAILABLE",
    15: "DATA_LOSS",
}
_WORDS = frozenset(word.replace("_", "") for word in (*_FAILED.values(), "CANCELED"))


def by_code(code: object) -> Heard | None:
    """FAILED if `code`, a number or a word, is that of a failed call; None for any other value."""
    if isinstance(code, int):
        return FAILED if code in _FAILED else None
    if not isinstance(code, str):
        return None
    if code.isascii() and code.isdecimal() and len(code) < 3:
        return by_code(int(code))
    return FAILED if code.replace("_", "").upper() in _WORDS else None


def is_stream(method_type: object) -> bool:
    """Whether a method's type is that of a stream, whose duration is a lifetime."""
    return isinstance(method_type, str) and method_type.lower().endswith("stream")
