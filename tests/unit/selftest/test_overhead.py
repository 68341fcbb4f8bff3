"""Selection of cases by `aferir bench overhead`."""

from __future__ import annotations

import pytest

from aferir.errors import UsageError
from aferir.selftest import overhead
from aferir.selftest.options import BenchOptions


def test_a_case_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="no such case") as caught:
        overhead.run(BenchOptions(only=("nothing",)), lambda *_: None)
    assert "planted_10_percent, planted_0_percent" in caught.value.remedy


@pytest.mark.parametrize(
    ("only", "count"), [((), 4), (("planted",), 2), (("ep", "planted_0"), 2), (("cg",), 1)]
)
def test_cases_are_chosen_by_how_they_begin(only: tuple[str, ...], count: int) -> None:
    assert sum(overhead._is_chosen(name, only) for name in overhead._CASES) == count
