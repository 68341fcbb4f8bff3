"""Download programs or texts for experiments, with Maven and apt as configured on this machine.

Java programs are pinned by version and checksum. `texts` is documentation of Debian's packages for
the search engines, about 300 MB to download, which is unpacked and not installed.
"""

from __future__ import annotations

import argparse

NAME = "fetch"
HELP = "fetch the Java programs of stores and search engines, or texts to search in"
_TEXTS = "texts"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir fetch`."""
    parser.add_argument(
        "store",
        nargs="+",
        metavar="WHAT",
        help="key-value, hbase, elasticsearch, opensearch, texts",
    )


def execute(options: argparse.Namespace) -> int:
    """Print the path of each archive."""
    from aferir.cli.console import status
    from aferir.colocation.trials import texts
    from aferir.errors import UsageError
    from aferir.programs.stores import jars

    if unknown := [name for name in options.store if name not in (*jars.NAMES, _TEXTS)]:
        known = ", ".join((*jars.NAMES, _TEXTS))
        raise UsageError(f"there is nothing to fetch for `{unknown[0]}`", remedy=f"choose {known}")
    for name in options.store:
        with status(f"fetching {name}"):
            path = texts.fetch() if name == _TEXTS else jars.fetch(name)
        print(path)
    return 0
