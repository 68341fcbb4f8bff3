"""Options of the verbs that communicate with other clocks."""

from __future__ import annotations

import argparse
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aferir.errors import MissingError
from aferir.linux.refusal import home

if TYPE_CHECKING:
    from aferir.clock.rgap import ServerInfo

PORT = 3617
_ENDINGS = (signal.SIGINT, signal.SIGTERM)


def key_path() -> Path:
    """Default path of the key. Errors: RefusedError without a home folder."""
    settings = os.environ.get("XDG_CONFIG_HOME") or home() / ".config"
    return Path(settings) / "aferir" / "clock.key"


def add_common(parser: argparse.ArgumentParser, *, interval_s: float) -> None:
    """Declare the options that client and server share."""
    parser.add_argument(
        "--key",
        type=Path,
        metavar="FILE",
        help="key of all nodes, readable by its owner alone (default: ~/.config/aferir/clock.key)",
    )
    parser.add_argument(
        "--interval",
        type=_seconds,
        default=interval_s,
        metavar="S",
        help="seconds between two lines of output (default: %(default)g)",
    )
    parser.add_argument(
        "--fallback",
        action="store_true",
        help="read CLOCK_MONOTONIC, which daemons slew, if no counter has a constant rate",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")


def add_port(parser: argparse.ArgumentParser, option: str, *, any_is_0: bool) -> None:
    """Declare a port; `any_is_0` permits 0 for any free one."""
    zero = "; 0: any" if any_is_0 else ""
    said = f"UDP (default: %(default)s{zero})"
    parser.add_argument(option, type=_port, default=PORT, metavar="N", help=said)


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number < 2**16:
        raise argparse.ArgumentTypeError("a port is from 0 to 65535")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0.01 <= number <= 1e6:
        raise argparse.ArgumentTypeError("from 0.01 to 1000000 seconds")
    return number


def require_counter(options: argparse.Namespace) -> None:
    """Refuse a machine without a counter of constant rate, unless `--fallback` is set."""
    from aferir.clock import rvec

    if rvec.info().invariance == "none" and not options.fallback:
        raise MissingError(
            "this machine's counter is not constant, or its kernel rejects it",
            remedy="`aferir clock check` says more; --fallback goes on by CLOCK_MONOTONIC, whose "
            "rate a time daemon may change by more than the bound allows for",
        )


def print_line(document: dict[str, object]) -> None:
    """Print one JSON object and flush, since another program may wait for it."""
    print(json.dumps(document), flush=True)


def print_serving(
    options: argparse.Namespace, address: str, info: ServerInfo, about: dict[str, object]
) -> None:
    """Print a server's address and port; as JSON, with its statistics and `about`."""
    if options.json:
        begun = {"event": "serving", "address": address, "timeline": info.timeline}
        print_line({**begun, **about, **server_document(info)})
    else:
        print(f"serving on {address} port {info.port}", flush=True)


def server_document(info: ServerInfo) -> dict[str, object]:
    """Statistics of a server for JSON."""
    return {
        "port": info.port,
        "answered": info.answered,
        "malformed": info.malformed,
        "foreign": info.foreign,
        "replayed": info.replayed,
        "busy": info.busy,
    }


def server_words(info: ServerInfo) -> str:
    """Statistics of a server as one line of text."""
    return (
        f"{info.answered} answered; dropped: {info.malformed} malformed, {info.foreign} foreign, "
        f"{info.replayed} replayed, {info.busy} busy"
    )


@contextmanager
def endings_held() -> Iterator[None]:
    """Block SIGINT and SIGTERM, which `turns` awaits; threads started within inherit the mask."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def turns(interval_s: float) -> Iterator[None]:
    """Yield every `interval_s` seconds until SIGINT or SIGTERM arrives; the signal is consumed."""
    while signal.sigtimedwait(_ENDINGS, interval_s) is None:
        yield
