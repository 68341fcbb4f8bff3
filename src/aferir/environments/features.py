"""What kinds of environment do to a program, each of which can be taken away by itself.

A kind declares its own; those that several kinds share are here. `aferir explain` takes them away
alone and together, to find what each costs.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

HOST_MEMORY = "the host's memory"
"""Stands for as much memory as the host has, see `Feature.without`."""


class Feature(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that an environment may have, and how it is taken away.

    An environment has it where what `without` says changes its specification.
    """

    name: str
    """Its name in words that finish "... comes from the": `seccomp filter`."""
    without: Mapping[str, object]
    """Keys of its table that take it away, with their values; None: the key is left out."""
    remedy: str
    """How a user takes it away, as a sentence without its full stop."""
    gives_up: str
    """What is lost with it, in words that follow "this gives up"."""


CPUS = Feature(
    name="CPUs that it is held to",
    without={"pin": None, "cpus": None},
    remedy="leave out `pin` and `cpus`, or name more CPUs",
    gives_up="CPUs that others have to themselves",
)
QUOTA = Feature(
    name="CPU quota",
    without={"cpu_quota": None},
    remedy="raise or leave out the quota (`cpu_quota`), or give it a weight instead, which "
    "takes nothing where nobody else wants the CPU",
    gives_up="a bound of what it takes from others",
)
SMALL_PAGES = Feature(
    name="small pages",
    without={"huge_pages": True},
    remedy="let it have huge pages (`huge_pages = true`)",
    gives_up="some memory, since a huge page is in memory as a whole",
)
MERGED_PAGES = Feature(
    name="page merging",
    without={"merge_pages": False},
    remedy="keep its pages from being merged (`merge_pages = false`)",
    gives_up="the memory that equal pages share",
)
COLD_CACHE = Feature(
    name="cold page cache",
    without={"page_cache": "warm"},
    remedy="read its files once before it starts, or keep its instance instead of starting anew",
    gives_up="the memory that the files are in",
)
PROCESSORS: tuple[Feature, ...] = (CPUS, QUOTA, SMALL_PAGES, MERGED_PAGES, COLD_CACHE)
"""Features of every kind that control groups of the host hold to its CPUs."""

MEMORY = Feature(
    name="memory limit",
    without={"memory": HOST_MEMORY},
    remedy="raise the memory limit (`memory`) above what the program and the files that it reads "
    "take together",
    gives_up="memory that others could count on",
)
DISK = Feature(
    name="disk of its own",
    without={"disk": None, "disk_rate": None},
    remedy="put its files on the host's disk (leave out `disk` and `disk_rate`)",
    gives_up="a bound of the space and the rate that it takes from others",
)
LIMITS: tuple[Feature, ...] = (*PROCESSORS, MEMORY, DISK)
"""Features of every kind whose processes are the host's."""

OVERLAY = Feature(
    name="overlay",
    without={"volume": "/var/tmp"},  # noqa: S108 - where programs have their working folder
    remedy="put the data on a volume, an ordinary folder of the host",
    gives_up="that what it writes goes away with it",
)
