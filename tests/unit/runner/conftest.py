"""Fixtures for all tests of runs."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _hang_ups_are_heard() -> Iterator[None]:
    """Under nohup(1) they are ignored, and what is ignored ends no run."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)
