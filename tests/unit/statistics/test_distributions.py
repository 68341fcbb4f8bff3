"""Distribution functions by the values of tables, and when scipy.special is imported."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from aferir.linux import process
from aferir.statistics import distributions as d

_LATE = """
import sys
from aferir import report, runner
from aferir.cli import running
from aferir.statistics import verdict
print("scipy.special" in sys.modules)
"""


def test_values_are_those_of_tables() -> None:
    """Tables of Abramowitz and Stegun (1964), and binomials by hand."""
    assert d.normal(1.96) == pytest.approx(0.9750021)
    assert d.normal(-10) == pytest.approx(7.619853e-24)
    assert d.normal_quantile(0.975) == pytest.approx(1.959964)
    assert d.normal_quantiles(np.array([0.5, 0.9])) == pytest.approx([0, 1.281552])
    assert d.student_quantile(9, 0.975) == pytest.approx(2.262157)
    assert d.student(9, -2.262157) == pytest.approx(0.025)
    assert d.above_chi_squared(2, 5.991465) == pytest.approx(0.05)
    assert d.beta(2, 1, 0.5) == pytest.approx(0.25)
    assert d.beta_quantile(2, 1, 0.25) == pytest.approx(0.5)
    assert d.binomial(1, 4, 0.5) == pytest.approx(5 / 16)
    assert d.binomials(4, 0.5) == pytest.approx([1 / 16, 5 / 16, 11 / 16, 15 / 16])
    assert np.exp(d.log_choose(5, np.array([0.0, 2.0, 5.0]))) == pytest.approx([1, 10, 1])


def test_what_needs_none_does_not_import_them() -> None:
    assert process.run([sys.executable, "-c", _LATE]).stdout == "False\n"
