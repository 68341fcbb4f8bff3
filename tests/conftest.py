"""For all tests."""

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# The machine is shared: how long one example takes says nothing about the code.
settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")

# What a shell starts in the background ignores it, and so would all that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def same_cpus() -> Iterator[None]:
    """Fail the test that leaves the process on fewer CPUs, and not those that run after it."""
    before = os.sched_getaffinity(0)
    yield
    after = os.sched_getaffinity(0)
    os.sched_setaffinity(0, before)
    assert after == before
