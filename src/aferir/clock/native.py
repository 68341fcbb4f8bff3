"""The compiled part of `rvec` and `rgap`, with its failures as errors of aferir."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from aferir.errors import ClockError, MissingError

try:
    from aferir.clock import _native
except ImportError as error:
    raise MissingError(
        f"this installation of aferir has no clocks for Python ({error})",
        remedy="apt-get install python3-dev, then install aferir again",
    ) from error

__all__ = ["RGAP_REMEDIES", "RVEC_REMEDIES", "failures_as_errors"]

RVEC_REMEDIES: Mapping[int, str] = {
    -3: "this processor's counter is not constant: `aferir clock check` says why",
    -4: "the machine was too busy to calibrate, or its counter is at fault: try again",
    -5: "allow this process all cores (taskset, cpuset), or do without measured offsets",
}
"""Remedies that are shown to the user, by `enum rvec_status`."""

RGAP_REMEDIES: Mapping[int, str] = {
    -1: "a key of 16 bytes at least, and a deadline above 0",
    -3: "is the port free, the address this machine's, the network there?",
    -4: "give an IPv4 or IPv6 address, or a name that can be resolved",
    -5: "is `aferir clock serve` running there, with this very key, on this address and port, "
    "and does every firewall on the way let UDP through?",
    -6: "the server was started anew: synchronise anew",
}
"""Remedies that are shown to the user, by `enum rgap_status`."""


@contextmanager
def failures_as_errors(what: str, remedies: Mapping[int, str]) -> Iterator[None]:
    """Raise ClockError with a remedy for a failure of the library in the block."""
    try:
        yield
    except _native.Failed as failed:
        status, text = failed.args
        raise ClockError(
            f"{what}: {text}", remedy=remedies.get(status, ""), status=status
        ) from None
