"""Show the runs of a folder in a browser: browse, filter, compare, follow a run, read its report.

The server listens on 127.0.0.1 only and answers only addresses that contain the token which it
prints. On another machine, forward the port: ssh -L PORT:127.0.0.1:PORT HOST. With --export the
same pages are written as files, which need no server.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from aferir.cli.list_ import add_runs_folder

NAME = "serve"
HELP = "show the runs in a browser, or as static files"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir serve`."""
    add_runs_folder(parser)
    parser.add_argument(
        "--port", type=int, default=0, metavar="N", help="port (default: a free one)"
    )
    parser.add_argument(
        "--export", type=Path, metavar="FOLDER", help="write static files there, and end"
    )
    parser.add_argument("--json", action="store_true", help="print the address, or paths, as JSON")


def execute(options: argparse.Namespace) -> int:
    """Serve until a signal ends it, or write the files."""
    if options.export is not None:
        return _export(options)
    from aferir.serve.server import Server
    from aferir.store.run import list_folders

    list_folders(options.runs)  # a wrong folder is said at once
    with Server(options.runs, options.port) as server:
        shown = json.dumps({"url": server.url}) if options.json else server.url
        print(shown, flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


def _export(options: argparse.Namespace) -> int:
    from aferir.serve.export import export

    written = export(options.runs, options.export)
    if options.json:
        print(json.dumps([str(path) for path in written]))
    else:
        print(written[0])
    return 0
