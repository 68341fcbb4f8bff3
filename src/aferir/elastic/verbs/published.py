"""Prints the ten rows of Dutra 2015, Table 5.8, with their simulation."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from aferir.errors import MissingError

if TYPE_CHECKING:
    from aferir.elastic.published import Cell, Fit, Reproduced


def show(options: argparse.Namespace) -> int:
    """Simulate and print the ten rows. Errors: MissingError without the published files."""
    from aferir.cli.console import console, status
    from aferir.elastic.published import fit, read, reproduce
    from aferir.elastic.verbs.tables import table
    from aferir.installed import installed

    folder = installed("reference")
    if folder is None or not folder.is_dir():
        raise MissingError("the published results are not installed", remedy="make run")
    cells = read(folder)
    with status("fitting the image store on two rows"):
        fits = fit(cells, options.seed)
    found = []
    for place, cell in enumerate(cells, start=1):
        with status(f"row {place} of {len(cells)}"):
            found.append(reproduce(cell, fits, options.seed))
    if options.picture is not None:
        with status("drawing the best and the worst run of each row"):
            _draw(options, found, fits)
    if options.json:
        import msgspec

        print(msgspec.json.encode({"fits": fits, "cells": found}).decode())
        return 0
    header = ["environment", "patience", "clients", "alone", "at once", "published", "inside"]
    console().print("Mean number of blocked clients, and the best and worst published run:")
    console().print(table(header, [_fields(one) for one in found]))
    for hypervisor, fitted in fits.items():
        name = _name(fitted.cell)
        console().print(
            f"{hypervisor}: an allocation uses the image store for {fitted.store_s:.1f} s, fitted "
            f"on {name}, {fitted.cell.load.clients} clients"
        )
    console().print(
        f"Inside the published range: {sum(bool(one.inside_alone) for one in found)} of "
        f"{len(found)} rows if allocations are alone, {sum(bool(one.inside) for one in found)} "
        "if those at once delay one another."
    )
    return 0


def _draw(options: argparse.Namespace, found: list[Reproduced], fits: Mapping[str, Fit]) -> None:
    from aferir.elastic.published import course
    from aferir.elastic.verbs.courses import Course, draw

    courses = []
    for one in found:
        cell = one.cell
        for which, blocked in (("best", min(one.blocked)), ("worst", max(one.blocked))):
            run = course(cell, fits, options.seed, one.blocked.index(blocked))
            name = f"{_name(cell)}, {cell.load.clients} clients, {which} of {len(one.blocked)} runs"
            courses.append(Course(name, run.books, run.trace, cell.clients_per_node))
    draw(options.picture, "Dutra 2015, Table 5.8, simulated from its Table 5.5", courses)


def _name(cell: Cell) -> str:
    return f"{cell.iaas}, {cell.hypervisor}, {cell.patience_s:g} s"


def _fields(one: Reproduced) -> list[str]:
    from statistics import mean

    cell = one.cell
    best, worst = cell.blocked_best, cell.blocked_worst
    inside = "no range" if one.inside is None else "yes" if one.inside else "no"
    return [
        f"{cell.iaas}, {cell.hypervisor}",
        f"{cell.patience_s:g} s",
        str(cell.load.clients),
        f"{mean(one.alone):.1f}",
        f"{mean(one.blocked):.1f}",
        "not given" if best is None else f"{best} to {worst}",
        f"{inside}, fitted" if one.fitted else inside,
    ]
