"""Fixtures and settings for all tests."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests import hanging
from tests.lanes import lane_of, turn_of

# The machine is shared: how long one example takes says nothing about the code. Examples are the
# same in every run, so that no change is refused for what is wrong elsewhere: others are drawn by
# `pytest --hypothesis-profile=search`.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same-examples", settings.get_profile("search"), derandomize=True)
settings.load_profile("same-examples")

# What a shell starts in the background ignores it, and so would all that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
# `kill` and limits of CI end tests as Ctrl-C does: fixtures release what they have made.
signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(autouse=True)
def same_cpus() -> Iterator[None]:
    """Fail the test that leaves the process on fewer CPUs, and not those that run after it."""
    before = os.sched_getaffinity(0)
    yield
    after = os.sched_getaffinity(0)
    os.sched_setaffinity(0, before)
    assert after == before


class Lanes(LoadScopeScheduling):
    """Deals out lanes to the processes that run tests (`pytest -n 4`)."""

    def _split_scope(self, nodeid: str) -> str:
        return lane_of(nodeid.partition("::")[0])


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Lanes:
    config.option.loadscopereorder = False  # our order is that of `turn_of`
    return Lanes(config, log)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(hanging, "hanging")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    hanging.refuse_rest(item)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):  # one of several processes
        items.sort(key=lambda item: turn_of(item.nodeid.partition("::")[0]))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without garbage collections, then or later: what is collected stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_sessionfinish() -> None:
    """Let all be collected at the end: libraries in C report what is left as leaked."""
    gc.unfreeze()
