"""Run one bench and judge it by its targets; without a name, list the benches."""

from __future__ import annotations

import argparse
import sys

from aferir.cli import bench as cli
from aferir.errors import AferirError
from aferir.linux.interrupts import ending_signals
from benchmarks.clock import bench as clock
from benchmarks.cluster import bench as cluster
from benchmarks.colocation import bench as colocation
from benchmarks.elastic import bench as elastic
from benchmarks.explain import bench as explain
from benchmarks.gate import bench as gate
from benchmarks.history import bench as history
from benchmarks.hosts import bench as hosts
from benchmarks.interactive import bench as interactive
from benchmarks.io import bench as io
from benchmarks.kernels import bench as kernels
from benchmarks.kills import bench as kills
from benchmarks.network import bench as network
from benchmarks.report import bench as report
from benchmarks.requests import bench as requests
from benchmarks.statistics import bench as statistics
from benchmarks.studies import bench as studies

BENCHES = {
    "clock": clock,
    "cluster": cluster,
    "colocation": colocation,
    "elastic": elastic,
    "explain": explain,
    "gate": gate,
    "history": history,
    "hosts": hosts,
    "interactive": interactive,
    "io": io,
    "kernels": kernels,
    "kills": kills,
    "network": network,
    "report": report,
    "requests": requests,
    "statistics": statistics,
    "studies": studies,
}


def main() -> int:
    """Return the bench's exit code, which is 0 when all its targets hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    cli.configure(parser)
    try:
        with ending_signals():
            return cli.choose(parser.parse_args(), BENCHES)
    except KeyboardInterrupt:
        print("\ninterrupted: everything that it made is removed", file=sys.stderr)
        return 130
    except AferirError as error:
        print(f"{error.message}\n  remedy: {error.remedy}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
