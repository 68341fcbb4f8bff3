"""Compare block operations with the tracepoint's count, and reject impossible power readings."""

from __future__ import annotations

import math
import mmap
import os
from pathlib import Path

from aferir.environments.base import Accounting
from aferir.errors import AferirError
from aferir.linux import limited_disk
from aferir.measuring.accounting import watching
from aferir.model.bench import Figure
from aferir.power.base import Description, Reading
from aferir.power.check import refusal
from aferir.probes import account
from aferir.programs.kernels import kernel_path
from aferir.selftest.options import BenchOptions, Note

_BLOCK = 4096
_OPERATIONS, _QUICK_OPERATIONS = 5000, 1000
_UPS = Description(name="ups", scope="server", most_w=865.0)
_NONSENSE = (
    Reading(power_w=600.0, apparent_va=500.0),
    Reading(power_w=-5.0),
    Reading(power_w=0.0),
    Reading(power_w=65535.0),
    Reading(power_w=900.0),
    Reading(power_w=math.nan),
    Reading(power_w=None),
    Reading(power_w=300.0, stale="data of 10 minutes ago"),
)


def blocks(options: BenchOptions, note: Note) -> list[Figure]:
    """Write and read a loop device of our own directly, and remove it afterwards."""
    count = _QUICK_OPERATIONS if options.quick else _OPERATIONS
    try:
        with limited_disk.attached(count * _BLOCK) as device:
            return [
                _difference(device, count, note, write=True),
                _difference(device, count, note, write=False),
            ]
    except (AferirError, OSError) as error:
        return [Figure(name="block", value=None, unit="operations", n=0, note=str(error))]


def nonsense(_: BenchOptions, note: Note) -> list[Figure]:
    """Judge that every impossible reading of a UPS is refused, and a possible one accepted."""
    note("readings that cannot be true", 0.5)
    refused = sum(bool(refusal(one.power_w, one, _UPS)) for one in _NONSENSE)
    kept = not refusal(285.0, Reading(power_w=285.0, apparent_va=300.0), _UPS)
    return [
        Figure(
            name="ups.nonsense_refused",
            value=float(refused),
            unit="readings",
            n=len(_NONSENSE),
            target=f"== {len(_NONSENSE)}",
            holds=refused == len(_NONSENSE) and kept,
            note="and 285 W at 300 VA is believed" if kept else "but so is a true one",
        )
    ]


def _difference(device: Path, count: int, note: Note, *, write: bool) -> Figure:
    """Compare the tracepoint and the device's own statistics with the operations that were done."""
    word = "writes" if write else "reads"
    note(f"direct {word}", 0.0 if write else 0.5)
    program = kernel_path(account.PROGRAM)
    with watching(program, Accounting(), "--device", str(device), "--budget", "0") as watched:
        before = _statistics(device, write=write)
        _move(device, count, write=write)
        done = _statistics(device, write=write) - before
    found = watched.account.block if watched.account is not None else None
    if found is None:
        return Figure(
            name=f"block.{word}.difference",
            value=None,
            unit="operations",
            n=count,
            note="the tracepoint block:block_rq_issue cannot be had: it takes root",
        )
    seen = found.writes if write else found.reads
    worst = max(abs(seen - count), abs(done - seen))
    return Figure(
        name=f"block.{word}.difference",
        value=float(worst),
        unit="operations",
        n=count,
        target="== 0",
        holds=worst == 0,
        note=f"asked for {count}, block_rq_issue {seen}, the device's statistics {done}",
    )


def _move(device: Path, count: int, *, write: bool) -> None:
    """Read or write that many blocks in sequence with direct I/O, from aligned memory."""
    file = os.open(device, os.O_DIRECT | (os.O_WRONLY if write else os.O_RDONLY))
    try:
        with mmap.mmap(-1, _BLOCK) as page:
            for k in range(count):
                if write:
                    os.pwrite(file, page, k * _BLOCK)
                else:
                    os.preadv(file, [page], k * _BLOCK)
    finally:
        os.close(file)


def _statistics(device: Path, *, write: bool) -> int:
    """Read the number of finished requests (Documentation/block/stat.rst)."""
    fields = Path(f"/sys/block/{device.name}/stat").read_text(encoding="ascii").split()
    return int(fields[4 if write else 0])
