"""The Yahoo! Cloud Serving Benchmark (Cooper 2010): its client, its phases and its report."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from aferir.programs.stores.inside.cpu import TICKS_PER_S, CpuTime
from aferir.programs.stores.inside.outcome import FailedError, WrongError
from aferir.programs.stores.inside.workplace import Workplace

JAVA = ("java", "-XX:-UsePerfData")
"""Command of Java; the option prevents the file in /tmp that a killed JVM would leave."""
_CLIENT = "site.ycsb.Client"
_WORKLOAD = "site.ycsb.workloads.CoreWorkload"
_LINE = re.compile(r"^\[([A-Z_-]+)\], ([^,]+), ([\d.]+)$", re.MULTILINE)
_NUMBERS = ("records", "requests", "clients", "fields", "field-bytes")

Report = Mapping[tuple[str, str], float]


def arguments(parser: ArgumentParser) -> None:
    """Declare the options of all stores under YCSB."""
    parser.add_argument("--jars", type=Path, required=True)
    for name in _NUMBERS:
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--reads", type=float, required=True)


def unpack(jars: Path, place: Workplace) -> None:
    """Unpack the store's programs into the folder `jars`."""
    place.run(["tar", "--extract", f"--file={jars}"])


def classpath(place: Workplace) -> str:
    """Class path: configuration files beside the programs, and the programs."""
    return f"{place.folder}/jars:{place.folder}/jars/*"


def phase(
    name: str, given: Namespace, place: Workplace, *, database: str, properties: Mapping[str, str]
) -> Report:
    """Run the client for the phase `load` or `t` (transactions); returns its verified report.

    Each value is a function of its key and field, and is checked whenever it is read. Errors:
    FailedError, WrongError.
    """
    settings = {
        "workload": _WORKLOAD,
        "recordcount": str(given.records),
        "operationcount": str(given.requests),
        "fieldcount": str(given.fields),
        "fieldlength": str(given.field_bytes),
        "dataintegrity": "true",
        "readproportion": str(given.reads),
        "updateproportion": str(1 - given.reads),
        "scanproportion": "0",
        "insertproportion": "0",
        "requestdistribution": "zipfian",
        **properties,
    }
    words = [word for key, value in settings.items() for word in ("-p", f"{key}={value}")]
    said = place.run(
        [
            *(*JAVA, "-cp", classpath(place), _CLIENT, f"-{name}"),
            *("-db", database, "-threads", str(given.clients), *words),
        ],
        name=f"ycsb-{name}",
    )
    report = read_report(said)
    if name == "load":
        check_report(report, {"INSERT": given.records})
    else:
        reads = report.get(("READ", "Operations"), 0.0)
        check_report(report, {"READ": reads, "VERIFY": reads, "UPDATE": given.requests - reads})
    return report


def cpu(report: Report) -> CpuTime:
    """CPU time of the client while it ran its requests.

    It does not include the start of the virtual machine.
    """
    user, system = (report["AFERIR", f"{part} ticks"] / TICKS_PER_S for part in ("user", "system"))
    return CpuTime(user, system)


def read_report(said: str) -> Report:
    """Numbers of YCSB's report by section and name. Errors: FailedError if there is none."""
    report = {(section, name): float(value) for section, name, value in _LINE.findall(said)}
    if ("OVERALL", "RunTime(ms)") not in report:
        raise FailedError("YCSB printed no report")
    return report


def check_report(report: Report, wanted: Mapping[str, float]) -> None:
    """Raise WrongError unless the expected number of requests of each kind succeeded."""
    for kind, number in wanted.items():
        well = report.get((kind, "Return=OK"), 0.0)
        if well != number:
            raise WrongError(f"{well:g} of {number:g} requests of the kind {kind} ended well")
