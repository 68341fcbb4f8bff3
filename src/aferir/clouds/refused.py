"""Errors of a cloud: its message, whether to retry, and whether it may have acted.

A throttled request was not carried out, and succeeds later. One that ends in a server error, or
without a response, may have been carried out (AWS, "Error codes for the Amazon EC2 API"; RFC 9110,
15.6). One that is refused was not carried out, and never will be.
"""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping
from http import HTTPStatus

from aferir.errors import ProgramError

_THROTTLED = (
    "RequestLimitExceeded",
    "Throttl",
    "SlowDown",
    "TooManyRequests",
    "RequestThrottled",
    "BandwidthLimitExceeded",
)
"""Parts of the error codes of throttled requests; their status is 503 for EC2, 429 for others."""
_NOT_YET = (
    HTTPStatus.REQUEST_TIMEOUT,  # the request did not arrive whole (RFC 9110, 15.5.9)
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
)
"""Statuses of requests that were not carried out, and may be repeated."""
_NO_ROOM = ("Insufficient", "LimitExceeded", "QuotaExceeded", "Unsupported")
"""Parts of the error codes of final refusals whose status is nevertheless that of a server error.
"""
_LONGEST_RETRY_S = 300.0
_WORDS = 300


class CloudError(ProgramError):
    """A cloud has reported a failure, or its response was lost or is unreadable."""

    def __init__(
        self,
        message: str,
        *,
        remedy: str = "",
        passing: bool = False,
        may_be_done: bool = False,
        after_s: float = 0.0,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.passing = passing
        """Whether the same request may succeed later."""
        self.may_be_done = may_be_done
        """Whether the request may have been carried out although no response says so."""
        self.after_s = after_s
        """Seconds before which the request must not be repeated (Retry-After; RFC 9110, 10.2.3)."""


def judged(
    cloud: str,
    said: str,
    *,
    status: int | None = None,
    code: str = "",
    headers: Mapping[str, str] | None = None,
    remedy: str = "",
) -> CloudError:
    """The error for a response's HTTP status and error code; `status` None: no response."""
    throttled = status in _NOT_YET or any(part in code for part in _THROTTLED)
    refused = not throttled and any(part in code for part in _NO_ROOM)
    fault = status is None or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return CloudError(
        f"{cloud}: {plain(said) or f'status {status}'}",
        remedy=remedy,
        passing=throttled or (fault and not refused),
        may_be_done=fault and not refused and not throttled,
        after_s=retry_after_s(headers or {}),
    )


def retry_after_s(headers: Mapping[str, str], now_s: float | None = None) -> float:
    """Retry-After of a response in seconds, from a number or a date; 0 if there is none."""
    told = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    try:
        seconds = float(told)
    except ValueError:
        try:
            moment = email.utils.parsedate_to_datetime(told).timestamp()
        except (ValueError, TypeError, IndexError, OverflowError):
            return 0.0
        seconds = moment - (time.time() if now_s is None else now_s)
    return min(max(0.0, seconds), _LONGEST_RETRY_S) if seconds == seconds else 0.0  # noqa: PLR0124


def plain(said: str) -> str:
    """A message as one line of at most 300 characters; for an HTML page, its title."""
    text = said.strip()
    if "<html" in text.lower() or text.lower().startswith("<!doctype"):
        lower = text.lower()
        start, end = lower.find("<title>"), lower.find("</title>")
        title = text[start + 7 : end].strip() if 0 <= start < end else "no title"
        text = f"a page of HTML instead of an answer: {title}"
    text = " ".join(text.split())
    return text if len(text) <= _WORDS else f"{text[:_WORDS]} ..."
