"""Create a cluster: a front end and workers with a network, a home and keys of their own.

It exists until `aferir cluster destroy`, even if this command's terminal is closed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.cluster.description import Description

NAME = "create"
HELP = "make a cluster"
_GUIDE = "docs/guides/cluster.md shows a file with the keys of a cluster"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir cluster create`."""
    parser.add_argument("name", nargs="?", help="name of the cluster")
    parser.add_argument("--file", type=Path, help="the cluster as TOML; options go before it")
    # Only to be refused with a reason: see `wanted`.
    parser.add_argument("--hosts", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--nodes", type=int, help="how many, the front end among them (default 2)")
    parser.add_argument(
        "--kind", choices=("container", "vm"), help="kind of nodes (default container)"
    )
    parser.add_argument("--cpus", type=int, help="CPUs of each node (default 1)")
    parser.add_argument("--memory", help="memory of each node (default 1 GiB)")
    parser.add_argument(
        "--boot",
        choices=("diskless", "disk", "pxe"),
        help="whether what workers write stays in RAM (default) or on a disk of each; "
        "pxe: in RAM, and guests boot from the network, served by the front end",
    )
    parser.add_argument(
        "--image", type=Path, help="tar of another userland, with Open MPI and an ssh server"
    )
    parser.add_argument(
        "--slurm", action="store_true", default=None, help="with Slurm: srun, sbatch, squeue"
    )
    parser.add_argument(
        "--accounting",
        action="store_true",
        default=None,
        help="with the records of Slurm's jobs: sacct, sreport",
    )
    parser.add_argument(
        "--placement",
        choices=("spread", "packed", "reserve", "free"),
        help="how nodes get the host's CPUs (default spread)",
    )
    parser.add_argument("--no-watch", action="store_true", help="do not replace nodes that die")
    parser.add_argument("--json", action="store_true", help="print the cluster as JSON")


def execute(options: argparse.Namespace) -> int:
    """Create the cluster, and start its watcher."""
    import time

    from aferir.cluster import manager, packaging, watch
    from aferir.cluster.verbs.status import print_json

    def progress(text: str) -> None:
        print(text, file=sys.stderr)

    clock = time.monotonic()
    if options.image is None:
        state = manager.create(wanted(options), progress)
    else:
        state = packaging.create_from_archive(wanted(options), options.image, progress)
    if not options.no_watch:
        watch.start(state.description.name)
    if options.json:
        print_json(state)
        return 0
    name = state.description.name
    print(f"{name}: {len(state.nodes)} nodes are ready, after {time.monotonic() - clock:.1f} s")
    print(f"  aferir cluster run {name} -- mpirun hostname")
    return 0


def wanted(options: argparse.Namespace) -> Description:
    """The description in the file, overridden by options of the command line.

    Errors: UsageError if either is invalid, or asks for several hosts.
    """
    import msgspec

    from aferir.cluster.description import Description

    values = _read(options.file) if options.file is not None else {}
    given = {
        key: getattr(options, key)
        for key in ("name", "nodes", "kind", "cpus", "boot", "slurm", "accounting", "placement")
    }
    given["memory"] = options.memory
    values |= {key: value for key, value in given.items() if value is not None}
    if options.hosts is not None or values.keys() & {"host", "hosts"}:
        raise UsageError(
            "a cluster that stays is on one host: what a command makes on others ends with it",
            remedy='`kind = "cluster"` with `host = "node1,node2"` in an experiment is on several; '
            "`aferir cluster move` brings one that stays to another host",
        )
    if "name" not in values:
        raise UsageError("the cluster needs a name", remedy="aferir cluster create NAME")
    _refuse_unknown(values)
    if "memory" in values:
        values["memory_bytes"] = _bytes(str(values.pop("memory")))
    try:
        return msgspec.convert(values, Description)
    except msgspec.ValidationError as error:
        raise UsageError(f"the cluster cannot be made: {error}", remedy=_GUIDE) from None


def _read(path: Path) -> dict[str, object]:
    """The keys of a file. Errors: UsageError if it cannot be read, or is not TOML."""
    import msgspec

    try:
        values: dict[str, object] = msgspec.toml.decode(path.read_bytes())
    except OSError as error:
        told = f"{path} cannot be read: {error.strerror or error}"
        raise UsageError(told, remedy=_GUIDE) from None
    except msgspec.DecodeError as error:
        raise UsageError(f"{path} is no TOML: {error}", remedy=_GUIDE) from None
    return values


def _refuse_unknown(values: Mapping[str, object]) -> None:
    """Check the names of all keys. Errors: UsageError that names the closest known one."""
    import msgspec

    from aferir.cluster.description import Description
    from aferir.model.words import choose, printable

    known = {field.encode_name for field in msgspec.structs.fields(Description)} | {"memory"}
    for key in sorted(values.keys() - known):
        told = f"a cluster has no key `{printable(key)}`"
        raise UsageError(told, remedy=choose(key, sorted(known - {"memory_bytes"})))


def _bytes(text: str) -> int:
    from aferir.model.units import parse_size

    try:
        return parse_size(text)
    except ValueError as error:
        raise UsageError(f"memory: {error}", remedy='e.g. "2 GiB"') from None
