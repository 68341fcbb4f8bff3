"""Distribution functions and their inverses, of scipy.

`scipy.special` is imported when one is first needed: that takes 0.14 s, as long as importing all of
aferir and numpy, and a run with one repetition of each cell needs none.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from aferir.statistics.arrays import Array

if TYPE_CHECKING:
    from types import ModuleType


def normal(x: float) -> float:
    """P(X <= x) of the standard normal distribution."""
    return float(_special().ndtr(x))


def normal_quantile(chance: float) -> float:
    """The x at which `normal` is `chance`."""
    return float(_special().ndtri(chance))


def normal_quantiles(chances: Array) -> Array:
    """`normal_quantile` of each."""
    found: Array = _special().ndtri(chances)
    return found


def student(freedom: float, t: float) -> float:
    """P(T <= t) of Student's distribution with `freedom` degrees of freedom."""
    return float(_special().stdtr(freedom, t))


def student_quantile(freedom: float, chance: float) -> float:
    """The t at which `student` is `chance`."""
    return float(_special().stdtrit(freedom, chance))


def above_chi_squared(freedom: float, x: float) -> float:
    """P(X > x) of the chi-squared distribution with `freedom` degrees of freedom."""
    return float(_special().chdtrc(freedom, x))


def beta(a: float, b: float, x: float) -> float:
    """P(X <= x) of the beta distribution, the regularized incomplete beta function."""
    return float(_special().betainc(a, b, x))


def beta_quantile(a: float, b: float, chance: float) -> float:
    """The x at which `beta` is `chance`."""
    return float(_special().betaincinv(a, b, chance))


def binomial(k: int, n: int, chance: float) -> float:
    """P(B <= k) of n trials, each of which succeeds with `chance`."""
    return float(_special().bdtr(k, n, chance))


def binomials(n: int, chance: float) -> Array:
    """`binomial` of each k from 0 to n - 1."""
    found: Array = _special().bdtr(np.arange(n), n, chance)
    return found


def log_choose(n: int, k: Array) -> Array:
    """Logarithm of the binomial coefficient n over each k."""
    gammaln = _special().gammaln
    logs: Array = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return logs


@cache
def _special() -> ModuleType:
    from scipy import special  # noqa: PLC0415 - see above

    return special
