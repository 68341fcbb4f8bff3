"""Say what this machine can run, what is missing, and the command that mends it.

A virtual machine is judged by booting one: a /dev/kvm that opens may still hang every guest.
"""

from __future__ import annotations

import argparse

NAME = "doctor"
HELP = "what this machine can run, what is missing, the command that mends it"

_MARKS = {"ok": "[green]ok[/]", "degraded": "[yellow]lesser[/]", "missing": "[red]missing[/]"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir doctor`."""
    parser.add_argument("--json", action="store_true", help="print findings for a program to read")


def execute(options: argparse.Namespace) -> int:
    """Collect the findings of the machine, each environment and each workload."""
    import msgspec

    from aferir import machine, registry
    from aferir.cli.console import console, status

    with status("looking at this machine, and booting a guest to see whether it can"):
        findings = [
            *machine.findings(),
            *(f for kind in registry.kinds() for f in registry.by_kind(kind).check()),
            *(f for workload in registry.all_programs().values() for f in workload.check()),
        ]
    if options.json:
        print(msgspec.json.encode(findings).decode())
        return 0
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("", "what", "finding"):
        table.add_column(title, overflow="fold")
    for finding in findings:
        remedy = f"\n[dim]-> {escape(finding.remedy)}[/]" if finding.remedy else ""
        table.add_row(_MARKS[finding.status], finding.subject, escape(finding.message) + remedy)
    console().print(table)
    return 0
