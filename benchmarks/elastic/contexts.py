"""Run each way of contextualisation on simulated hosts, in turns: the time until they serve."""

from __future__ import annotations

from itertools import product
from statistics import median
from typing import get_args

import msgspec

from aferir.clouds import simulated
from aferir.clouds.technologies import Technology
from aferir.elastic.program import ALLOCATION, AllocationParameters
from aferir.errors import AferirError
from aferir.linux import process
from aferir.model.bench import Figure
from aferir.model.cloud import Context
from aferir.programs.kernels import finite, read_figures
from aferir.selftest.options import BenchOptions, Note

_TURNS = 3
_LIMIT_S = 3600.0


def figures(options: BenchOptions, note: Note) -> list[Figure]:
    """Median time to allocate an instance, by technology and context; `quick`: of containers."""
    found: list[Figure] = []
    for technology in ("container",) if options.quick else get_args(Technology):
        name = f"contexts.{technology}"
        try:
            lacks = [one for one in simulated.check(technology) if one.status == "missing"]
            found += [_missing(name, f"{one.message}; {one.remedy}") for one in lacks]
            if not lacks:
                found += _in_turns(technology, 1 if options.quick else _TURNS, note)
        except AferirError as error:
            found.append(_missing(name, error.message))
    return found


def _in_turns(technology: Technology, turns: int, note: Note) -> list[Figure]:
    contexts: tuple[Context, ...] = get_args(Context)
    seconds: dict[Context, list[float]] = {context: [] for context in contexts}
    for turn, context in product(range(turns), contexts):
        note(f"{technology} told by {context}", 0.9 + 0.02 * turn)
        seconds[context].append(_tar_s(technology, context))
    return [
        Figure(
            name=f"contexts.{technology}.{context}",
            value=median(taken),
            unit="s",
            n=len(taken),
            note=f"TaR with the image at the host, {min(taken):.2f} to {max(taken):.2f} s",
        )
        for context, taken in seconds.items()
    ]


def _tar_s(technology: Technology, context: Context) -> float:
    """Allocate and release one instance; returns its TaR in s. Errors: as of `process.run`."""
    wanted = AllocationParameters(technology=technology, context=context, cache="warm", hosts=1)
    command = ALLOCATION.command(wanted)
    line = [str(command.program), *command.arguments]
    read = read_figures(process.run(line, timeout_s=_LIMIT_S).stdout, ALLOCATION.name)
    samples = msgspec.convert(read["samples"], tuple[dict[str, object], ...])
    [tar_s] = [finite(one, "value") for one in samples if one["metric"] == "tar_s"]
    return tar_s


def _missing(name: str, said: str) -> Figure:
    return Figure(name=name, value=None, unit="s", n=0, note=said)
