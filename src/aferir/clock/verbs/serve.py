"""Run as reference node: serve this machine's time to others until SIGINT or SIGTERM.

The served time begins as Unix time and then follows the counter alone: no daemon steps or slews it.
It listens on the loopback unless --address is set; `::` serves IPv6 and IPv4 on every address. A
key is generated if there is none yet: copy it to the other nodes for `aferir clock sync`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
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
    from aferir.clock.rgap import Server, ServerInfo

NAME = "serve"
HELP = "serve this machine's time to other nodes"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir clock serve`."""
    parser.add_argument(
        "--address",
        default="127.0.0.1",
        metavar="A",
        help="address of this machine, IPv4 or IPv6 (default: %(default)s)",
    )
    add_port(parser, "--port", any_is_0=True)
    add_common(parser, interval_s=10.0)


def execute(options: argparse.Namespace) -> int:
    """Serve, and print statistics at intervals."""
    from aferir.clock.key import create_key, read_key
    from aferir.clock.rgap import Server

    require_counter(options)
    path = options.key or key_path()
    is_new = not path.exists()
    key = create_key(path) if is_new else read_key(path)
    with endings_held(), Server(key, address=options.address, port=options.port) as server:
        _begin(options, path, server.info(), is_new=is_new)
        _report(options, server)
    return 0


def _begin(options: argparse.Namespace, key: Path, info: ServerInfo, *, is_new: bool) -> None:
    print_serving(options, options.address, info, {"key": str(key), "key_is_new": is_new})
    if options.json:
        return
    made = " (new: copy it to the nodes that are to ask)" if is_new else ""
    print(f"key {key}{made}", flush=True)


def _report(options: argparse.Namespace, server: Server) -> None:
    """Print a line at every interval; as text only if something has happened since the last."""
    shown = server.info()
    for _ in turns(options.interval):
        now = server.info()
        if options.json:
            print_line({"event": "status", **server_document(now)})
        elif now != shown:
            print(server_words(now), flush=True)
        shown = now
    last = server.info()
    if options.json:
        print_line({"event": "ended", **server_document(last)})
    else:
        print(f"ended: {server_words(last)}", flush=True)
