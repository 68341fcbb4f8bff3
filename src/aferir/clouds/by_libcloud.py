"""Common parts of EC2, Eucalyptus and CloudStack: drivers of apache-libcloud and their errors.

Drivers are not thread-safe, so each thread has its own.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from libcloud.common.exceptions import BaseHTTPError
from libcloud.common.types import InvalidCredsError, MalformedResponseError, ProviderError
from libcloud.compute.base import NodeDriver

from aferir.clouds import credentials
from aferir.clouds.refused import judged, plain
from aferir.errors import AferirError, UsageError
from aferir.model.finding import Finding

_Found = TypeVar("_Found")
_KEYS = "see whether the keys are right, and may do this"


class Drivers:
    """One driver per thread, which converts the library's errors to aferir's."""

    def __init__(self, provider: str, connect: Callable[[], NodeDriver]) -> None:
        self._provider = provider
        self._connect = connect
        self._own = threading.local()

    @contextlib.contextmanager
    def driver(self) -> Iterator[Any]:
        """This thread's driver; its errors are converted to AferirError, without secrets.

        Besides its own errors, the library raises plain `Exception` and `ValueError`.
        """
        try:
            if not hasattr(self._own, "driver"):
                self._own.driver = self._connect()
            yield self._own.driver
        except AferirError:
            raise
        except InvalidCredsError as error:
            words = getattr(error, "value", "") or str(error)
            raise judged(self._provider, str(words), status=401, remedy=_KEYS) from None
        except MalformedResponseError as error:
            said = f"its answer is not understood: {plain(str(error.body or error.value))}"
            headers = self._last_headers()
            raise judged(
                self._provider, said, status=self._last_status(), headers=headers
            ) from None
        except ProviderError as error:
            said, status = str(error.value), int(error.http_code or 0) or None
            raise judged(
                self._provider, said, status=_status(status), headers=self._last_headers()
            ) from None
        except BaseHTTPError as error:
            code = str(error.message).partition(":")[0]
            headers = error.headers or {}
            raise judged(
                self._provider, str(error.message), status=error.code, code=code, headers=headers
            ) from None
        except OSError as error:  # of requests, too: no answer, or half of one
            raise judged(self._provider, str(error)) from None
        except (LookupError, AttributeError, TypeError) as error:  # a field it expects is missing
            said = f"its answer is not understood ({type(error).__name__}: {error})"
            raise judged(self._provider, said) from None
        except Exception as error:  # noqa: BLE001 - that is what this library raises
            said = str(error) or type(error).__name__
            raise judged(self._provider, said, status=400) from None

    def finding(self, wanted: Callable[[Any], object]) -> list[Finding]:
        """Check that the cloud accepts the credentials, and has what `wanted` names."""
        try:
            with self.driver() as driver:
                wanted(driver)
        except AferirError as error:
            return [Finding(self._provider, "missing", error.message, error.remedy)]
        said = f"{self._provider} lets us in and has what is wanted"
        return [Finding(self._provider, "ok", said)]

    def _last(self) -> Any:
        connection = getattr(getattr(self._own, "driver", None), "connection", None)
        return getattr(getattr(connection, "connection", None), "response", None)

    def _last_headers(self) -> Mapping[str, str]:
        return dict(getattr(self._last(), "headers", None) or {})

    def _last_status(self) -> int | None:
        """Status of a response that could not be parsed; None if it claims success (below 400)."""
        status = getattr(self._last(), "status_code", None)
        return None if status is None or status < 400 else int(status)


def _status(status: int | None) -> int | None:
    """Treat CloudStack's own refusals, 531 to 537 (ApiErrorCode), as 400; 530 has many causes."""
    return 400 if status is not None and 530 < status < 540 else status


def chosen(kind: str, wanted: str, offered: list[_Found]) -> _Found:
    """The item of `offered` with the ID or name `wanted`. Errors: UsageError if there is none."""
    for one in offered:
        if wanted in (str(getattr(one, "id", "")), str(getattr(one, "name", ""))):
            return one
    raise UsageError(f"this cloud has no {kind} {wanted!r}", remedy="name it as the cloud does")


def endpoint(url: str) -> dict[str, Any]:
    """Convert a cloud's URL to arguments of a libcloud driver. Errors: UsageError if invalid."""
    secure, host, port = credentials.address_of(url)
    return {"secure": secure, "host": host, "port": port}
