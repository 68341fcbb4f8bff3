"""Show what this machine can run, what is missing, and the command that installs it.

Whether virtual machines work is tested by booting one: a /dev/kvm that opens may still hang every
guest.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aferir.cli.overview import Section
    from aferir.model.finding import Finding

NAME = "doctor"
HELP = "what this machine can run, what is missing, the command that mends it"

_MARKS = {"ok": "[green]ok[/]", "degraded": "[yellow]lesser[/]", "missing": "[red]missing[/]"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir doctor`."""
    parser.add_argument("--json", action="store_true", help="print findings for a program to read")
    parser.add_argument(
        "--all", action="store_true", help="print every finding on a line of its own"
    )
    parser.add_argument(
        "--fix",
        nargs="*",
        metavar="WHAT",
        help="install the packages that are missing, after asking; WHAT: run, hpc, network, clock, "
        "io, elastic, colocation, or what a finding is about",
    )
    parser.add_argument("--yes", action="store_true", help="with --fix: do not ask")


def execute(options: argparse.Namespace) -> int:
    """Collect and print findings about the machine, each environment and each program."""
    from aferir import machine, registry
    from aferir.cli.console import status
    from aferir.cli.overview import sections

    with status("looking at this machine, and booting a guest to see whether it can"):
        found = sections(
            machine.findings(),
            {kind: registry.by_kind(kind).check() for kind in registry.kinds()},
            {name: program.check() for name, program in registry.all_programs().items()},
        )
    findings = [one for section in found for one in section.findings]
    if options.json:
        import msgspec

        print(msgspec.json.encode(findings).decode())
        return 0
    if options.fix is not None:
        return _fix(findings, options.fix, ask=not options.yes)
    _show(found, every=options.all)
    if not options.all:
        _say_more(findings)
    return 0


def _show(found: Iterable[Section], *, every: bool) -> None:
    from rich.markup import escape
    from rich.table import Table

    from aferir.cli.console import console
    from aferir.cli.overview import lines

    for section in found:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for _ in range(3):
            table.add_column(overflow="fold")
        for line in lines(section.findings, every=every):
            remedy = f"\n[dim]-> {escape(line.remedy)}[/]" if line.remedy else ""
            subjects = ", ".join(line.subjects)
            if not line.message:
                table.add_row(_MARKS[line.status], "", escape(subjects))
            else:
                said = escape(line.message) + remedy
                table.add_row(_MARKS[line.status], escape(subjects), said)
        console().print(f"[bold]{escape(section.title)}[/]")
        console().print(table)


def _say_more(findings: Sequence[Finding]) -> None:
    from aferir.cli.overview import to_install

    names = to_install(findings)
    if names:
        print(f"\nTo install what is missing ({' '.join(names)}): aferir doctor --fix")
    print("Each finding in a line of its own: aferir doctor --all")


def _fix(findings: Sequence[Finding], chosen: Sequence[str], *, ask: bool) -> int:
    """Install missing packages.

    Errors: UsageError for an unknown chapter or subject, or if the user cannot be asked.
    """
    import sys

    from aferir.cli.overview import CHAPTERS, to_install
    from aferir.errors import UsageError
    from aferir.linux import process
    from aferir.machine import packages

    known = {*CHAPTERS, *(one.subject for one in findings)}
    if unknown := [name for name in chosen if name not in known]:
        raise UsageError(
            f"--fix {' '.join(unknown)}: there is no such chapter and no such finding",
            remedy=f"choose among {', '.join(CHAPTERS)}, or leave it out for all that is missing",
        )
    names = to_install(findings, chosen)
    if not names:
        print("Nothing is missing that a package would add.")
        return 0
    command = packages.install_command(names)
    print(command)
    if not command.split()[0].endswith(("sudo", "apt-get")):
        return 1
    if ask and not sys.stdin.isatty():
        raise UsageError("there is nobody to ask", remedy="type the command above, or add --yes")
    if ask and input("Install them? [y/N] ").strip().lower() not in ("y", "yes"):
        return 1
    process.run(command.split())
    print("Installed. Programs that aferir compiles with them come with the next `make setup`.")
    return 0
