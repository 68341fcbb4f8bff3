from __future__ import annotations

import pytest

from aferir.errors import MissingError
from aferir.machine import needed
from aferir.model.finding import Finding


def test_the_first_thing_that_is_missing_is_told_with_its_remedy() -> None:
    found = [
        Finding("vm", "ok", "there"),
        Finding("vm", "degraded", "slow", "a faster one"),
        Finding("vm", "missing", "no QEMU", "apt-get install it"),
        Finding("vm", "missing", "no room", "more room"),
    ]
    with pytest.raises(MissingError, match="no QEMU") as told:
        needed.require(found)
    assert told.value.remedy == "apt-get install it"
    needed.require(found[:2])
