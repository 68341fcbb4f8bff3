"""The other hosts of an environment, and whether they have our kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.errors import MissingError
from aferir.model.variables import ADDRESSES, ENTER, HOSTS
from aferir.programs.others import Others, others, shares_kernel


def switches() -> int:
    lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("ctxt ")))


def test_a_kernel_is_ours_if_it_counts_as_ours_does() -> None:
    assert shares_kernel(switches)
    before = switches()
    assert not shares_kernel(lambda: before - 1)
    assert not shares_kernel(lambda: 2 * switches())


def test_the_first_host_needs_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HOSTS, raising=False)
    assert others() is None
    monkeypatch.setenv(HOSTS, "a b c")
    monkeypatch.setenv(ENTER, "/enter")
    monkeypatch.setenv(ADDRESSES, "10.0.0.1 10.0.0.2 10.0.0.3")
    assert others() == Others(("b", "c"), "10.0.0.1", "/enter")
    monkeypatch.setenv(ADDRESSES, " 10.0.0.2 10.0.0.3")
    with pytest.raises(MissingError, match="a has no address"):
        others()
