"""What kinds have in common that control groups of the host hold to their limits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Annotated

from aferir.linux import limited_disk
from aferir.model.checking import Wrong
from aferir.model.parameters import size, text
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
"""Where an instance with files of its own has its own disk."""


class LimitedSpec(EnvironmentSpec, frozen=True, kw_only=True):
    """An environment with a limit of its CPUs, and a say in how its memory is kept."""

    cpu_quota: CpuQuota = None
    huge_pages: HugePages = True
    merge_pages: MergePages = False
    page_cache: PageCache = "warm"
    tenants: Tenants = 1


class DiskSpec(LimitedSpec, frozen=True, kw_only=True):
    """One that may have a disk of its own besides."""

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

    def conflicts(self) -> tuple[Wrong, ...]:
        """A rate is that of a disk."""
        if self.disk_bps is not None and self.disk_bytes is None:
            said = "is of a disk of its own"
            return (Wrong("disk_rate", said, 'add its size: `disk = "2 GiB"`'),)
        return ()


class LayeredSpec(DiskSpec, frozen=True, kw_only=True):
    """One whose files are on an overlay, but for those in a volume."""

    volume: Annotated[
        str,
        text(
            "folder in it that is an ordinary one of the host, and no overlay",
            "/data",
            unset="none",
        ),
    ] = ""

    def conflicts(self) -> tuple[Wrong, ...]:
        """A volume is at a place of its own, named from the root."""
        wrong = super().conflicts()
        if self.volume and (not self.volume.startswith("/") or self.volume == "/"):
            said = "is no folder below the root"
            return (*wrong, Wrong("volume", said, 'write its whole path: `volume = "/data"`'))
        return wrong


@contextlib.contextmanager
def own_disk(spec: EnvironmentSpec) -> Iterator[limited_disk.Disk | None]:
    """The disk that is asked for, for an instance that is made meanwhile; given back if none is."""
    if not (isinstance(spec, DiskSpec) and spec.disk_bytes):
        yield None
        return
    disk = limited_disk.mounted(spec.disk_bytes, spec.disk_bps or 0)
    try:
        yield disk
    except BaseException:
        limited_disk.give_back(disk.entry)
        raise


@contextlib.contextmanager
def files(
    environment: Mapping[str, str], disk: limited_disk.Disk | None
) -> Iterator[dict[str, str]]:
    """Variables of a run; a folder that is wanted for files is on the disk, which is at `DISK`."""
    if disk is None or SCRATCH not in environment:
        yield dict(environment)
        return
    with limited_disk.private(disk) as name:
        yield {**environment, SCRATCH: str(DISK / name)}
