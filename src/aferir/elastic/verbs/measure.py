"""Measure one step of ElasticMovie on hosts that are simulated on this machine, or on a cloud.

`allocation` allocates one instance and releases it, `capacity` finds how many streams a host
sustains, `load` how busy its cores are while viewers enter at a fixed interval, and `movie` runs
the service itself under a load. Results of the first two are stored, and `movie` takes its clients
per Node from there; if they are not known, it measures the capacity first. Simulated hosts need
root. `--cloud FILE` uses instances of OpenStack, OpenNebula, CloudStack, EC2 or Eucalyptus instead,
with the credentials of that cloud's own tools;
docs/guides/elastic.md describes the file. `--dask` runs the viewers of a movie on a cloud on the
workers of a Dask cluster, each with its share of the same arrivals.

examples:
  aferir elastic measure allocation --cache cold
  aferir elastic measure capacity --instances 2 --rate-mbit 250
  aferir elastic measure movie --clients 200 --interarrival 0.1 --video 20 --patience 1 --live 8080
  aferir elastic measure allocation --cloud openstack.toml
  aferir elastic measure movie --cloud openstack.toml --clients-per-node 40 --clients 20000
    --interarrival 0.01 --dask tcp://10.0.0.2:8786 --front 10.0.0.1
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.elastic.verbs.steps import Step

NAME = "measure"
HELP = "one step of ElasticMovie, on simulated hosts or on a cloud"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir elastic measure`."""
    from aferir.cli.parameters import add_document, add_options
    from aferir.elastic.program import (
        AllocationParameters,
        CapacityParameters,
        HostsParameters,
        LoadParameters,
        MovieParameters,
        ViewersParameters,
    )
    from aferir.model.parameters import names

    add = parser.add_argument
    add(
        "step",
        choices=("allocation", "capacity", "load", "movie"),
        help="what is measured, see above",
    )
    add(
        "--cloud",
        type=Path,
        metavar="FILE",
        help="file of the cloud whose instances are used (default: simulated hosts)",
    )
    hosts = parser.add_argument_group("hosts", "of a cloud: no more instances than on such hosts")
    add_options(hosts, HostsParameters)
    allocation = parser.add_argument_group("allocation; a movie's instances serve, so not `none`")
    add_options(allocation, AllocationParameters, leave=names(HostsParameters))
    viewers = parser.add_argument_group("viewers; of every step but allocation")
    add_options(viewers, ViewersParameters, leave=names(HostsParameters))
    capacity = parser.add_argument_group("capacity")
    add_options(capacity, CapacityParameters, leave=names(ViewersParameters))
    load = parser.add_argument_group("load")
    add_options(load, LoadParameters, leave=names(ViewersParameters))
    movie = parser.add_argument_group("movie")
    known = {*names(ViewersParameters), *names(AllocationParameters)}
    add_options(movie, MovieParameters, leave=known)
    movie.add_argument(
        "--live", type=int, metavar="PORT", help="serve a page with the current state on 127.0.0.1"
    )
    add_document(parser)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")


def execute(options: argparse.Namespace) -> int:
    """Measure once and print the figures."""
    if not 1 <= (options.live or 1) <= 65535:
        raise UsageError(f"--live {options.live}: not possible", remedy="from 1 to 65535")
    from aferir.elastic.verbs.steps import measure

    figures = measure(_chosen(options), options.cloud, options.live)
    if options.json:
        import msgspec

        print(msgspec.json.encode(figures).decode())
        return 0
    from aferir.report.formatting import metric_name, quantity

    for sample in figures.samples:
        print(f"{metric_name(sample.metric):32} {quantity(sample.value, sample.unit)}")
    for doubt in figures.doubts:
        print(f"{doubt.code}: {doubt.message}; {doubt.advice}")
    return 0


def _chosen(options: argparse.Namespace) -> Step:
    """Parameters of the step. Errors: UsageError if an option belongs to another step only."""
    from aferir.cli.parameters import option, read_options
    from aferir.elastic.program import (
        AllocationParameters,
        CapacityParameters,
        LoadParameters,
        MovieParameters,
    )
    from aferir.model.parameters import names

    structs: dict[str, type[Step]] = {
        "allocation": AllocationParameters,
        "capacity": CapacityParameters,
        "load": LoadParameters,
        "movie": MovieParameters,
    }
    known = {key for struct in structs.values() for key in names(struct)}
    struct = structs[options.step]
    for key in sorted(known & vars(options).keys() - {*names(struct)}):
        raise UsageError(
            f"{option(key)}: means nothing for the step `{options.step}`", remedy="leave it out"
        )
    return read_options(struct, options)
