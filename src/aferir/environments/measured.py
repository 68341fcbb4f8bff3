"""What is asked of whoever runs and watches one program in an instance, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from aferir.linux.process import Completed
from aferir.model.record import Failure, Sample, Series


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a program."""

    line: tuple[str, ...]
    environment: Mapping[str, str] = {}
    timeout_s: float
    load_period_s: float | None = None
    """How often the load of each core is looked at meanwhile; None: never."""
    accounted: bool = False
    """Whether the processors are watched by a program of their own."""


class Measured(msgspec.Struct, frozen=True):
    """What came of it."""

    done: Completed | None = None
    """None where the program did not run to its end."""
    observed: tuple[Sample, ...] = ()
    """What the probes saw."""
    loads: tuple[Series, ...] = ()
    failure: Failure | None = None
    """What failed in the instance, or the limit that was passed; what the program says of itself is
    in `done`."""
    lost: bool = False
    """The instance died, or a program may still run in it: it has to be replaced."""
