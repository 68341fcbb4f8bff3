"""What `check()` of an environment, a workload or the machine says."""

from __future__ import annotations

from typing import Literal

import msgspec

Status = Literal["ok", "degraded", "missing"]


class Finding(msgspec.Struct, frozen=True):
    """One thing that this machine has, lacks, or has in a lesser form."""

    subject: str
    """What it is about, e.g. `container`, `vm`, `frequency`."""
    status: Status
    message: str
    remedy: str = ""
    """The command that mends it, or why nothing can."""
