"""Where the viewers of the steps `capacity` and `load` are: on this host, or on the others.

In an environment over several hosts the server is on the first and its viewers are on the others,
so that the load of the first is the server's alone (Dutra 2015, 5.1: clients had a cluster of their
own).
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence

from aferir.elastic.viewers import PROGRAM, Watched, command, run
from aferir.model.record import Warning
from aferir.programs.others import Others


async def watch(
    url: str,
    options: Sequence[str],
    *,
    clients: int,
    interval_s: float,
    limit_s: float,
    elsewhere: Others | None = None,
) -> list[Watched]:
    """Run viewers who enter one every `interval_s` seconds; returns the results of each place.

    With several other hosts they enter on these in turn. Errors: as of `viewers.run`.
    """
    if elsewhere is None:
        line = command(url, [*options, *_entering(clients, interval_s)])
        return [await run(line, limit_s=limit_s)]
    hosts = elsewhere.names[:clients]
    lines = []
    for place, name in enumerate(hosts):
        share = len(range(place, clients, len(hosts)))
        words = ["--url", url, *options, *_entering(share, interval_s * len(hosts))]
        first = f"sleep {place * interval_s:.6f}; " if place else ""
        shell = f'{first}exec "$AFERIR_PROGRAMS/{PROGRAM}" {shlex.join(words)}'
        lines.append(elsewhere.line(name, shell))
    return await asyncio.gather(*(run(line, limit_s=limit_s) for line in lines))


def _entering(clients: int, interval_s: float) -> tuple[str, ...]:
    return ("--clients", str(clients), "--interval", f"{interval_s:.6f}")


def doubts(elsewhere: Others | None) -> tuple[Warning, ...]:
    """Warning if viewers on other hosts use the processors of the server nevertheless."""
    shared = () if elsewhere is None else elsewhere.sharing_our_kernel()
    if not shared:
        return ()
    said = f"{', '.join(shared)} and the server's host have one kernel: they are one machine"
    advice = "viewers take processor time from the server: take hosts that are machines"
    return (Warning("viewers-on-the-servers-machine", said, advice),)
