"""Result of a check of an environment, a program or the machine."""

from __future__ import annotations

from typing import Literal

import msgspec

Status = Literal["ok", "degraded", "missing"]


class Finding(msgspec.Struct, frozen=True):
    """One capability that this machine has, lacks, or has in a lesser form."""

    subject: str
    """Subject of the finding, e.g. `container`, `vm`, `frequency`."""
    status: Status
    message: str
    remedy: str = ""
    """Command that removes the lack, or the reason why no command can."""
