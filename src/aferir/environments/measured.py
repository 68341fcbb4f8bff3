"""Request to run and measure one program in an instance, and the result."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from aferir.linux.process import Completed
from aferir.model.record import Failure, Sample, Series, Warning


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Request to run a program once."""

    line: tuple[str, ...]
    environment: Mapping[str, str] = {}
    timeout_s: float
    load_period_s: float | None = None
    """Sampling period in s of the load of each core; None: it is not sampled."""
    accounted: bool = False
    """True if a separate program accounts for CPU time."""


class Measured(msgspec.Struct, frozen=True):
    """Result of one measured run of a program."""

    done: Completed | None = None
    """Output and exit code of the program; None if it did not run to its end."""
    observed: tuple[Sample, ...] = ()
    """Samples that the probes took."""
    series: tuple[Series, ...] = ()
    """Load and power over time."""
    failure: Failure | None = None
    """Failure of the instance, or of a time limit; the program's own errors are in `done`."""
    lost: bool = False
    """True if the instance died or a program may still run in it, so that it must be replaced."""
    warnings: tuple[Warning, ...] = ()
    """Doubts about samples of the host's meters."""
