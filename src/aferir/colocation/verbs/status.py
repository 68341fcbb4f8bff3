"""Say what the running co-locations do: mode, service level, and why it changed last.

examples:
  aferir colocate status
  aferir colocate status --json
"""

from __future__ import annotations

import argparse

NAME = "status"
HELP = "what the running co-locations do, in a sentence each"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir colocate status`."""
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def execute(options: argparse.Namespace) -> int:
    """Print the status of every running co-location; returns 0 even if there is none."""
    from aferir.colocation import restores, status

    found = list(status.running())
    if options.json:
        import msgspec

        document = {"running": found, "restores": restores.read()}
        print(msgspec.json.format(msgspec.json.encode(document)).decode())
        return 0
    print("\n".join(one.sentence for one in found) or "No co-location runs.")
    return 0
