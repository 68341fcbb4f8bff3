"""Common keys of the kinds whose limits the host's control groups enforce."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Annotated

from aferir.linux import limited_disk
from aferir.model.checking import Wrong
from aferir.model.parameters import duration, size, text, whole
from aferir.model.plan import (
    SCRATCH,
    CpuQuota,
    EnvironmentSpec,
    HugePages,
    MergePages,
    PageCache,
    Tenants,
)

DISK = PurePosixPath("/srv/aferir")
"""Mount point of an instance's own disk, if the instance has a root file system of its own."""


class LimitedSpec(EnvironmentSpec, frozen=True, kw_only=True):
    """An environment with a CPU limit and settings of its memory pages."""

    cpu_quota: CpuQuota = None
    huge_pages: HugePages = True
    merge_pages: MergePages = False
    page_cache: PageCache = "warm"
    tenants: Tenants = 1


class DiskSpec(LimitedSpec, frozen=True, kw_only=True):
    """A limited environment that may also have its own disk."""

    disk_bytes: (
        Annotated[
            int,
            size(
                "size of a disk of its own, on which programs of I/O have their files (their "
                "parameter `folder` says nothing then); takes root",
                64 * 2**20,
                2**50,
                bare=False,
                unset="none",
                key="disk",
            ),
        ]
        | None
    ) = None
    disk_bps: (
        Annotated[
            int,
            size(
                "what that disk reads and writes in a second at most",
                1,
                2**50,
                bare=False,
                unset="no limit",
                key="disk_rate",
            ),
        ]
        | None
    ) = None

    disk_operations: (
        Annotated[
            int,
            whole(
                "requests that disk reads, and writes, in a second at most; a rotating one has "
                "some 100, because it seeks",
                1,
                10**9,
                unset="no limit",
            ),
        ]
        | None
    ) = None
    disk_seek: (
        Annotated[
            float,
            duration(
                "time of each request to that disk that does not begin where the one before has "
                "ended, one request at a time; a rotating one takes some 8 ms",
                *(1e-4, 1.0),
                bare=False,
                unset="none",
            ),
        ]
        | None
    ) = None

    def conflicts(self) -> tuple[Wrong, ...]:
        """Report limits of a disk that the environment does not have."""
        if self.disk_bytes is not None:
            return ()
        said, remedy = "is of a disk of its own", 'add its size: `disk = "2 GiB"`'
        limits = (
            ("disk_rate", self.disk_bps),
            ("disk_operations", self.disk_operations),
            ("disk_seek", self.disk_seek),
        )
        return tuple(Wrong(key, said, remedy) for key, limit in limits if limit is not None)


class LayeredSpec(DiskSpec, frozen=True, kw_only=True):
    """An environment whose files are on an overlay, except those in a volume."""

    volume: Annotated[
        str,
        text(
            "folder in it that is an ordinary one of the host, and no overlay",
            "/data",
            unset="none",
        ),
    ] = ""

    def conflicts(self) -> tuple[Wrong, ...]:
        """Report a volume that is not an absolute path below the root."""
        wrong = super().conflicts()
        if self.volume and (not self.volume.startswith("/") or self.volume == "/"):
            said = "is no folder below the root"
            return (*wrong, Wrong("volume", said, 'write its whole path: `volume = "/data"`'))
        return wrong


def wrong_network(spec: EnvironmentSpec, network: str) -> tuple[Wrong, ...]:
    """Report a value of the key `network` other than `none` in an environment on several hosts."""
    if not spec.is_spread or network == "none":
        return ()
    said = "instances on several hosts have a network of their own"
    return (Wrong("network", said, "remove it, or name one host"),)


@contextlib.contextmanager
def own_disk(spec: EnvironmentSpec) -> Iterator[limited_disk.Disk | None]:
    """Make the disk of the instance that the block makes; removed again if the block fails."""
    if not (isinstance(spec, DiskSpec) and spec.disk_bytes):
        yield None
        return
    limits = limited_disk.Limits(
        spec.disk_bps or 0, spec.disk_operations or 0, spec.disk_seek or 0.0
    )
    disk = limited_disk.mounted(spec.disk_bytes, limits)
    try:
        yield disk
    except BaseException:
        limited_disk.give_back(disk.entry)
        raise


@contextlib.contextmanager
def files(
    environment: Mapping[str, str], disk: limited_disk.Disk | None
) -> Iterator[dict[str, str]]:
    """Environment variables of a run, with its scratch folder, if any, on the instance's disk."""
    if disk is None or SCRATCH not in environment:
        yield dict(environment)
        return
    with limited_disk.private(disk) as name:
        yield {**environment, SCRATCH: str(DISK / name)}
