"""Connect to every host and describe all of them side by side, with their differences."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aferir.hosts.verbs.options import add_file, chosen

if TYPE_CHECKING:
    from aferir.hosts.clocks import Offset
    from aferir.hosts.reaching import Asked

NAME = "check"
HELP = "connect to every host and describe it"
_SHOWN = ("cpu_model", "cpus", "memory", "kernel", "distribution", "clock_source", "python")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_file(parser)
    parser.add_argument("--json", action="store_true", help="print each host's description as JSON")


def execute(options: argparse.Namespace) -> int:
    """Returns exit code 3 if a host cannot be used."""
    import msgspec

    from aferir.hosts import reaching

    hosts = reaching.connect(chosen(options))
    try:
        asked = reaching.ask(hosts)
    finally:
        for host in hosts:
            host.lose()
    if options.json:
        print(msgspec.json.format(msgspec.json.encode(asked)).decode())
    else:
        _show(asked)
    return 0 if all(one.found is not None for one in asked.values()) else 3


def _show(asked: Mapping[str, Asked]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from aferir.cli.console import console
    from aferir.hosts import clocks

    rows = {name: _row(one) for name, one in asked.items()}
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("host", *(title.replace("_", " ") for title in _SHOWN), "clock ahead by"):
        table.add_column(title)
    for name, row in rows.items():
        cells = (escape(row.get(key, "-")) for key in _SHOWN)
        table.add_row(name, *cells, _ahead(asked[name].clock))
    console().print(table)
    for name, one in asked.items():
        if one.found is None:
            console().print(f"[red]{escape(name)}[/]: {escape(one.error)}")
            console().print(f"  remedy: {escape(one.remedy)}")
        elif one.clock is not None and (said := clocks.told(one.clock)):
            console().print(f"[yellow]{escape(name)}[/]: {said}: set it, or run chrony")
    for (status, said), names in _findings(asked).items():
        console().print(f"[yellow]{status}[/] on {escape(', '.join(names))}: {escape(said)}")
    for key in _SHOWN:
        values = {row[key] for row in rows.values() if key in row}
        if len(values) > 1:
            said = ", ".join(f"{n}: {row[key]}" for n, row in rows.items() if key in row)
            console().print(f"[yellow]differ in {key.replace('_', ' ')}[/]: {escape(said)}")


def _findings(asked: Mapping[str, Asked]) -> dict[tuple[str, str], list[str]]:
    """Names of the hosts by each finding that is not `ok`: its status, and its text."""
    where: dict[tuple[str, str], list[str]] = {}
    for name, one in asked.items():
        for finding in one.found.findings if one.found is not None else ():
            if finding.status != "ok":
                remedy = f"; {finding.remedy}" if finding.remedy else ""
                key = (finding.status, f"{finding.subject}: {finding.message}{remedy}")
                where.setdefault(key, []).append(name)
    return where


def _ahead(clock: Offset | None) -> str:
    if clock is None:
        return "-"
    return f"{clock.ahead_ns / 1e6:.2f} ± {clock.bound_ns / 1e6:.2f} ms"


def _row(one: Asked) -> dict[str, str]:
    if one.found is None:
        return {}
    said: Any = one.found.facts
    facts = {**said.get("machine", {}), **said.get("software", {})}
    told = {key: str(facts[key]) for key in _SHOWN if facts.get(key)}
    limits = one.found.limits
    return told | {
        "cpus": str(limits.most_cpus),
        "memory": f"{limits.memory_bytes / 2**30:.1f} GiB",
    }
