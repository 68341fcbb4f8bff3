"""Name the cells of service x load x batch program x threads, for example `sla.nginx.50.xz.4`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, product
from types import MappingProxyType

import msgspec

from aferir.colocation.program import BATCH
from aferir.colocation.settings import Sla
from aferir.errors import UsageError

PART = "sla"
SLAS: Mapping[str, Sla] = MappingProxyType(
    {
        "nginx": Sla(0.95, 0.1),
        "memcached": Sla(0.95, 0.01),
        "elasticsearch": Sla(0.95, 0.2),
        "opensearch": Sla(0.95, 0.2),
    }
)
"""Service level of each service, as in experiments/colocation.toml."""
_LOADS = (25, 50, 75)
_THREADS = (1, 2, 4, 6)


class Named(msgspec.Struct, frozen=True):
    """One cell: a service at one load beside one batch program."""

    service: str
    load_percent: int
    """Load in percent of the highest rate at which the service alone meets its service level."""
    program: str
    threads: int

    @property
    def name(self) -> str:
        """The cell's name, for example `sla.nginx.50.xz.4`."""
        return f"{PART}.{self.service}.{self.load_percent}.{self.program}.{self.threads}"


_SHORT = tuple(Named("nginx", load, program, 4) for load in _LOADS for program in ("xz", "gcc"))
_QUICK = (Named("nginx", 50, "xz", 4),)


def chosen(only: Iterable[str], *, quick: bool) -> list[Named]:
    """Select the cells whose name equals or begins with a name of `only`; without one, a few cells.

    Errors: UsageError if a name has the prefix of a cell's name but selects no cell.
    """
    names = [name for name in only if name.startswith(f"{PART}.")]
    if not names:
        return list(_QUICK if quick else _SHORT)
    cells = [Named(*values) for values in product(SLAS, _LOADS, BATCH, _THREADS)]
    for name in names:
        if not any(_begins(cell, name) for cell in cells):
            raise UsageError(
                f"--only {name}: there is no such cell",
                remedy=f"{PART}.SERVICE.LOAD.BATCH.THREADS or the beginning of it, of"
                f" {', '.join(SLAS)}; 25, 50 or 75; {', '.join(BATCH)}; 1, 2, 4 or 6",
            )
    return [cell for cell in cells if any(_begins(cell, name) for name in names)]


def _begins(cell: Named, name: str) -> bool:
    return f"{cell.name}.".startswith(f"{name}.")


def by_service(cells: Sequence[Named]) -> Iterator[tuple[str, list[Named]]]:
    """Group the cells by service, which is started, and its highest rate found, only once."""
    for service, those in groupby(cells, key=lambda cell: cell.service):
        yield service, list(those)
