"""Fetch Java programs that an experiment can run, with Maven as it is set up on this machine.

Each artifact is pinned by its version and its checksum; nothing else is taken.
"""

from __future__ import annotations

import argparse

NAME = "fetch"
HELP = "fetch the Java programs of stores and search engines"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir fetch`."""
    parser.add_argument("store", nargs="+", help="key-value, hbase, elasticsearch, opensearch")


def execute(options: argparse.Namespace) -> int:
    """Print where each archive is."""
    from aferir.errors import UsageError
    from aferir.workloads.stores import jars

    if unknown := [name for name in options.store if name not in jars.NAMES]:
        known = ", ".join(jars.NAMES)
        raise UsageError(f"there is nothing to fetch for `{unknown[0]}`", remedy=f"choose {known}")
    for name in options.store:
        print(jars.fetch(name))
    return 0
