"""Berkeley DB Java Edition under YCSB."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from aferir.programs.stores.inside import ycsb
from aferir.programs.stores.inside.outcome import Figures, WrongError
from aferir.programs.stores.inside.workplace import Workplace

PROGRAM = "key-value"
_BINDING = "aferir.BerkeleyDb"
_SETTINGS = "je.freeDisk=0\n"
"""Berkeley DB's settings; by default it refuses writes if less than 5 GB are free, e.g. on small
disks.
"""


def arguments(parser: ArgumentParser) -> None:
    """Declare the options of this program."""
    ycsb.arguments(parser)
    parser.add_argument("--cache-bytes", type=int, required=True)


def run(given: Namespace, place: Workplace) -> Figures:
    """Load, run, and count the records. Errors: FailedError, WrongError."""
    clock = time.perf_counter()
    ycsb.unpack(given.jars, place)
    (place.folder / "data").mkdir()
    (place.folder / "data" / "je.properties").write_text(_SETTINGS, encoding="ascii")
    own = {"je.folder": "data", "je.cache": str(given.cache_bytes)}
    ycsb.phase("load", given, place, database=_BINDING, properties=own)
    setup_s = time.perf_counter() - clock
    report = ycsb.phase("t", given, place, database=_BINDING, properties=own)
    command = [*ycsb.JAVA, "-cp", f"{place.folder}/jars/*", _BINDING, "data"]
    # Java says first which options it has taken from JAVA_TOOL_OPTIONS.
    counted = int(place.run(command, name="count").split()[-1])
    if counted != given.records:
        raise WrongError(f"{counted} records are there, not {given.records}")
    return Figures(
        duration_s=report["OVERALL", "RunTime(ms)"] / 1e3,
        requests=given.requests,
        bytes_read=round(report["AFERIR", "read"]),
        bytes_written=round(report["AFERIR", "written"]),
        setup_s=setup_s,
        cpu=ycsb.cpu(report),
    )
