"""Save a cluster to one file, an OVA, from which `load` creates it again, here or elsewhere.

The cluster is paused meanwhile.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

NAME = "save"
HELP = "write a cluster to an OVA file"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir cluster save`."""
    parser.add_argument("name", help="name of the cluster")
    parser.add_argument("file", type=Path, help="the OVA to make")


def execute(options: argparse.Namespace) -> int:
    """Save the cluster."""
    from aferir.cluster import packaging

    packaging.save(options.name, options.file, lambda text: print(text, file=sys.stderr))
    return 0
