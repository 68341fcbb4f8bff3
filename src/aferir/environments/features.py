"""Features of environments, each of which can be removed on its own to measure its cost.

A kind declares its own; those that several kinds share are here. `aferir explain` removes them
alone and together.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

HOST_MEMORY = "the host's memory"
"""Placeholder for the amount of memory that the host has, see `Feature.without`."""


class Feature(msgspec.Struct, frozen=True, kw_only=True):
    """One feature of environments, and how it is removed.

    An environment has the feature if applying `without` changes its specification.
    """

    name: str
    """Name in words that complete "... comes from the": `seccomp filter`."""
    without: Mapping[str, object]
    """Keys to set in the environment's table to remove the feature; None as value deletes the key.
    """
    remedy: str
    """Advice that removes the feature: a sentence without its full stop."""
    gives_up: str
    """What is lost without the feature, as a phrase that follows the words "this gives up"."""


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
"""Features of every kind whose CPUs the host's control groups limit."""

MEMORY = Feature(
    name="memory limit",
    without={"memory": HOST_MEMORY},
    remedy="raise the memory limit (`memory`) above what the program and the files that it reads "
    "take together",
    gives_up="memory that others could count on",
)
DISK = Feature(
    name="disk of its own",
    without={"disk": None, "disk_rate": None, "disk_operations": None, "disk_seek": None},
    remedy="put its files on the host's disk (leave out `disk` and its limits)",
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
