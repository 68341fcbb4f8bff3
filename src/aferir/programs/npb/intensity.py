"""Arithmetic intensity of NPB's kernels: floating-point operations per byte of memory traffic.

Operations are those that NPB counts; multiplied by `executed_share`, they are those that our
programs execute. Bytes are modelled for our programs, not measured: in each pass, an array that
exceeds the caches is read once, written once or both, and repeated reads within a pass hit the
caches. docs/concepts/roofline.md derives each figure.
"""

from __future__ import annotations

import math

_DOUBLE = 8
_STATE = 5 * _DOUBLE
"""Bytes of the five components of the flow at one grid point."""
_FT_POINTS_LOG2 = {"S": 18, "W": 19, "A": 23, "B": 25, "C": 27, "D": 31}


def intensity(kernel: str, problem_class: str) -> float | None:
    """Floating-point operations per byte of memory traffic of a kernel.

    None if NPB counts something else: random numbers in EP, keys in IS.
    """
    if kernel == "ft":
        return _ft(_FT_POINTS_LOG2[problem_class])
    return _INTENSITIES.get(kernel)


def _ft(points_log2: int) -> float:
    """Operations per byte of one time step of FT.

    The operations per point are NPB's formula. A step reads the spectrum once, and reads and writes
    the field twice, with 16 bytes per point.
    """
    operations = 5.23518 + 7.21113 * points_log2 * math.log(2)
    return operations / ((1 + 2 * 2) * 2 * _DOUBLE)


_EXECUTED = {"cg": 1.03, "mg": 1.25, "ft": 0.64, "bt": 0.72, "sp": 0.87, "lu": 0.38}
"""Operations that our programs execute, as a multiple of those that NPB counts, by kernel.

Counted with callgrind at x86-64-v2 by `python -m benchmarks kernels`: docs/concepts/roofline.md.
"""


def executed_share(kernel: str) -> float:
    """Operations that our program executes for each that NPB counts. Errors: KeyError."""
    return _EXECUTED[kernel]


_INTENSITIES = {
    # Two operations per element of the matrix, whose value and column take 10 bytes.
    "cg": 2 / 10,
    # 58 operations per point. On the finest grid, u and v are read and u is written once; the next
    # grid has an eighth of the points, and so on.
    "mg": 58 / (3 * _DOUBLE * 8 / 7),
    # State, forcing and change, then change, state and state again; only terms of highest order.
    "bt": 3478.8 / (6 * _STATE),
    "sp": 881.174 / (6 * _STATE),
    # State and correction are read and written in both sweeps, the forcing is read in one.
    "lu": 1984.77 / (9 * _STATE),
}
