from __future__ import annotations

import pytest

from aferir.evaluate.judge import judge
from aferir.evaluate.page import sections
from aferir.evaluate.profile import General, Profile, Weights
from aferir.report.blocks import Statements
from tests.unit.evaluate.test_judge import NAMES, cost


@pytest.mark.parametrize(("error", "settled"), [(0.01, True), (0.3, False)])
def test_what_the_runs_do_not_settle_is_said(error: float, settled: bool) -> None:
    weights = Weights(performance=1)
    costs = [
        cost("performance", name, factor, error)
        for name, factor in zip(NAMES, (1.0, 1.2), strict=True)
    ]
    profile = Profile(general=General(runs=("r",)), weights=weights)
    first = sections(profile, judge(costs, weights, NAMES, seed=1), NAMES)[0].blocks[0]
    assert isinstance(first, Statements)
    assert first.statements[0].environment == "native"
    assert ("do not settle" in first.statements[0].text) is not settled
