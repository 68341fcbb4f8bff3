"""An HTTP server on loopback, and a loop that calls a sensor until it has read enough."""

from __future__ import annotations

import contextlib
import http.server
import threading
import time
from collections.abc import Callable, Iterator

from aferir.colocation.histogram import Histogram
from aferir.colocation.sensors.base import Look, Sensor

Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


@contextlib.contextmanager
def served(answer: Answer) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with contextlib.suppress(OSError):
                answer(self)

        def log_request(self, code: object = "-", size: object = "-") -> None:
            pass  # or it would write to standard error

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/x?y=1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def say(handler: http.server.BaseHTTPRequestHandler, status: int, body: str = "fine") -> None:
    handler.send_response(status)
    handler.end_headers()
    handler.wfile.write(body.encode())


def looks_until(sensor: Sensor, enough: Callable[[Look], bool], seconds: float = 300.0) -> Look:
    """Merge the sensor's results until they suffice."""
    latencies, failed = Histogram(), 0
    deadline = time.monotonic() + seconds
    while True:
        look = sensor.look()
        latencies.merge(look.latencies)
        failed += look.failed
        whole = Look(latencies=latencies, failed=failed, problem=look.problem)
        if enough(whole):
            return whole
        assert time.monotonic() < deadline, whole
        time.sleep(0.01)
