"""Time since 1970 that nothing sets or slews while this process lives.

It is the system clock's time at the start of the process, continued by CLOCK_MONOTONIC_RAW
(clock_gettime(2)). So it runs at the rate of the host's oscillator, which daemons such as chrony do
not touch, and two hosts' times differ by an offset and a nearly constant rate.
"""

from __future__ import annotations

import time

_ORIGIN_NS = time.time_ns() - time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def unix_ns() -> int:
    """Time in ns since 1970; it never runs backwards within this process."""
    return _ORIGIN_NS + time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
