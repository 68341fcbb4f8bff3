"""Synchronise with a server: the offset at once, the rate after 1 s, and a bound of the error.

HOST runs `aferir clock serve`, or `aferir clock sync --serve`, which makes trees of any depth. No
clock of this machine is set. `offset` is the server's time minus this machine's system time. With
--watch or --serve it continues until SIGINT or SIGTERM.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from aferir.clock.verbs.options import (
    add_common,
    add_port,
    endings_held,
    key_path,
    print_line,
    print_serving,
    require_counter,
    server_document,
    server_words,
    turns,
)

if TYPE_CHECKING:
    from aferir.clock.rgap import GlobalClock, Server

NAME = "sync"
HELP = "synchronise with a server: offset, rate, and a bound of the error"

_SECOND_LOOK_S = 1.0
"""Shortest time in s between the exchanges that librgap needs for a rate."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir clock sync`."""
    parser.add_argument("host", metavar="HOST", help="IPv4, IPv6 or name of the server")
    add_port(parser, "--port", any_is_0=False)
    parser.add_argument(
        "--once", action="store_true", help="take no second look: offset without a rate"
    )
    parser.add_argument(
        "--watch", action="store_true", help="continue, and report how the bound grows"
    )
    parser.add_argument(
        "--serve", metavar="A", help="serve the resulting time at this address of this machine"
    )
    add_port(parser, "--serve-port", any_is_0=True)
    add_common(parser, interval_s=1.0)


def execute(options: argparse.Namespace) -> int:
    """Synchronise once or twice, print the result, and go on serving or following if requested."""
    from aferir.clock.key import read_key
    from aferir.clock.rgap import GlobalClock, Server

    require_counter(options)
    key = read_key(options.key or key_path())
    with endings_held(), ExitStack() as stack:
        clock = GlobalClock.synchronise(options.host, options.port, key=key, background=False)
        if not options.once and not _waited():
            return 130
        if not options.once:
            clock.poll()
        _show(options, clock)
        server = None
        if options.serve is not None:
            place = {"address": options.serve, "port": options.serve_port}
            server = stack.enter_context(Server(key, upstream=clock, **place))
            print_serving(options, options.serve, server.info(), {})
        if options.watch or server is not None:
            _go_on(options, clock, server)
    return 0


def _waited() -> bool:
    """Wait until the second exchange is due; False if a signal interrupts it."""
    return next(turns(_SECOND_LOOK_S + 0.01), _ENDED) is not _ENDED


_ENDED = object()


def _offset_ns(clock: GlobalClock) -> tuple[int, int]:
    """Global minus system time, and its bound, in ns."""
    from aferir.clock import rvec

    local = rvec.now_ns()
    at, bound = clock.at(local)
    return at - (local + rvec.unix_shift_ns()), bound


def _show(options: argparse.Namespace, clock: GlobalClock) -> None:
    info = clock.info()
    offset, bound = _offset_ns(clock)
    if options.json:
        print_line(
            {
                "event": "synchronised",
                "server": options.host,
                "port": options.port,
                "level": info.level,
                "timeline": info.timeline,
                "looks": info.looks,
                "offset_s": offset * 1e-9,
                "bound_s": bound * 1e-9,
                "rate": info.rate_ppm * 1e-6,
                "rate_uncertainty": info.rate_doubt_ppm * 1e-6,
                "round_trip_s": info.min_rtt_ns * 1e-9,
                "exchanges": info.exchanges,
                "kernel_stamped": info.kernel_stamped,
                "duration_s": info.duration_ns * 1e-9,
                "lost": info.lost,
                "dropped": info.malformed + info.foreign + info.unexpected,
            }
        )
        return
    rate = f"{info.rate_ppm:+.4f} ppm ± {info.rate_doubt_ppm:.3g}"
    known = rate if info.looks > 1 else f"not known: within ± {info.rate_doubt_ppm:g} ppm"
    print(f"offset      {_time(offset, sign=True)} of the system's clock")
    print(f"bound       {_time(bound)} now")
    print(f"rate        {known}")
    print(f"round trip  {_time(info.min_rtt_ns)} at best")
    print(
        f"exchanges   {info.exchanges} in {_time(info.duration_ns)}, "
        f"{info.kernel_stamped} with the kernels' stamps, {info.lost} lost"
    )
    print(f"level       {info.level} below the reference node", flush=True)


def _go_on(options: argparse.Namespace, clock: GlobalClock, server: Server | None) -> None:
    began = time.monotonic()
    for _ in turns(options.interval):
        offset, bound = _offset_ns(clock)
        elapsed = time.monotonic() - began
        if options.json:
            now = {"elapsed_s": elapsed, "offset_s": offset * 1e-9, "bound_s": bound * 1e-9}
            served = {"served": server_document(server.info())} if server else {}
            print_line({"event": "status", **now, **served})
            continue
        served_words = f"; {server_words(server.info())}" if server else ""
        print(
            f"{elapsed:8.1f} s  offset {_time(offset, sign=True)}  bound {_time(bound)}"
            f"{served_words}",
            flush=True,
        )


def _time(ns: float, *, sign: bool = False) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:{'+' if sign else ''}.3f} {unit}"
    return f"{ns:{'+' if sign else ''}.0f} ns"
