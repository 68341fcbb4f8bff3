"""Bounds the time at which a program's series began by the program's start and end."""

from __future__ import annotations

import msgspec

from aferir.linux.process import Completed
from aferir.model.record import TIME, Series
from aferir.model.stamps import between

_RATES = 750e-6
"""Largest relative difference (s/s) of a program's clock from ours: 250 ppm between oscillators
(`rate_limit_ppm` of librgap), and 500 ppm by which the kernel slews a clock (adjtimex(2)).
"""


def placed(series: Series, done: Completed) -> Series:
    """Add to a series over time the time at which it began, which a program does not report.

    It began after the start of the program, and early enough for its last value to be before the
    end: the middle of that interval is taken, its half is the error. The series is unchanged if its
    beginning is known, if it is not over time, or if it is longer than the program ran, as
    simulated times may be.
    """
    times = [place for place in series.at if not isinstance(place, str)]
    if series.along != TIME or series.began is not None or not times:
        return series
    last_s = max(times)
    if min(times) < 0 or last_s > done.duration_s:
        return series
    start_ns = done.started_unix_ns
    began = between(start_ns, start_ns + round(done.duration_s * 1e9), last_s)
    bound_ns = began.bound_ns + done.started_bound_ns + round(_RATES * done.duration_s * 1e9)
    return msgspec.structs.replace(series, began=msgspec.structs.replace(began, bound_ns=bound_ns))
