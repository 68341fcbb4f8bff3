from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aferir.statistics.arrays import quantile


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=40), st.floats(0, 1))
def test_quantiles_are_numpys(values: list[float], share: float) -> None:
    assert quantile(sorted(values), share) == float(np.quantile(values, share))
