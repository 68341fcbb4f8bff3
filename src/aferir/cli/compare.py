"""Say what differs between two runs: the same environments and workloads, side by side.

The two were not measured side by side in time, so differences of the machine's state are in the
ratios; intervals treat the runs as independent samples.
"""

from __future__ import annotations

import argparse
from pathlib import Path

NAME = "compare"
HELP = "what differs between two runs"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir compare`."""
    parser.add_argument("first", type=Path, metavar="A", help="folder of the first run")
    parser.add_argument("second", type=Path, metavar="B", help="folder of the second run")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def execute(options: argparse.Namespace) -> int:
    """Print the ratio of each cell that both runs have."""
    import msgspec

    from aferir.report.analyse import analyse
    from aferir.report.compare import compare
    from aferir.store import open_run

    first, second = open_run(options.first), open_run(options.second)
    result = msgspec.structs.replace(
        compare(analyse(first.plan, first.records), analyse(second.plan, second.records)),
        first=str(first.folder),
        second=str(second.folder),
    )
    if options.json:
        print(msgspec.json.format(msgspec.json.encode(result)).decode())
        return 0
    for cell in result.cells:
        print(cell.text)
    for names, which in ((result.only_first, options.first), (result.only_second, options.second)):
        for name in names:
            print(f"{name}: only {which} has results")
    if not result.cells:
        print("The two runs have no cell in common that has results.")
    return 0
