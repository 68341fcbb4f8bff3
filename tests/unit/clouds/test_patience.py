from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.clouds import patience
from aferir.clouds.provider import Look
from aferir.clouds.refused import CloudError, judged, plain, retry_after_s
from aferir.errors import UsageError
from tests.unit.linux.simulated_clock import SimulatedClock

THROTTLED = judged("c", "Request limit exceeded.", status=503, code="RequestLimitExceeded")


@pytest.mark.parametrize(
    ("status", "code", "passing", "may_be_done"),
    [
        (503, "RequestLimitExceeded", True, False),
        (400, "Throttling", True, False),
        (429, "", True, False),
        (408, "", True, False),
        (500, "InternalError", True, True),
        (504, "", True, True),
        (None, "", True, True),
        (503, "InsufficientInstanceCapacity", False, False),
        (500, "InsufficientHostCapacity", False, False),
        (400, "InstanceLimitExceeded", False, False),
        (403, "UnauthorizedOperation", False, False),
        (400, "InvalidAMIID.NotFound", False, False),
    ],
)
def test_what_an_answer_leaves_open(
    status: int | None, code: str, *, passing: bool, may_be_done: bool
) -> None:
    error = judged("c", "words", status=status, code=code)
    assert (error.passing, error.may_be_done) == (passing, may_be_done)
    assert error.message == "c: words"


def test_a_cloud_says_when_it_wants_to_be_asked_again() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    later = format_datetime(now.replace(second=30), usegmt=True)
    assert retry_after_s({"Retry-After": "7"}) == 7.0
    assert retry_after_s({"retry-after": later}, now.timestamp()) == 30.0
    assert retry_after_s({}) == 0.0


@given(st.text())
def test_no_wish_of_a_cloud_is_a_fault_of_ours(told: str) -> None:
    assert 0.0 <= retry_after_s({"Retry-After": told}) <= 300.0


def test_the_message_of_an_html_page_is_its_title() -> None:
    page = "<!DOCTYPE html><html><head><title>504 Gateway Time-out</title></head></html>"
    assert plain(page) == "a page of HTML instead of an answer: 504 Gateway Time-out"
    assert len(plain("x" * 10_000)) < 400


def test_patience_is_of_time_and_asks_less_and_less_often() -> None:
    clock, asked = SimulatedClock(0.0), []

    def busy() -> None:
        asked.append(clock.now_s())
        raise THROTTLED

    with pytest.raises(CloudError):
        patience.patiently(busy, 300.0, clock)
    assert 200.0 < clock.now_s() <= 300.0
    assert len(asked) < 40


def test_nobody_asks_earlier_than_the_cloud_wishes() -> None:
    clock, asked = SimulatedClock(0.0), []

    def once_busy() -> str:
        asked.append(clock.now_s())
        if len(asked) == 1:
            raise judged("c", "slow", status=429, headers={"Retry-After": "42"})
        return "answer"

    assert patience.patiently(once_busy, 300.0, clock) == "answer"
    assert asked[1] - asked[0] >= 42.0


def test_a_refusal_is_believed_after_a_while_and_a_usage_error_at_once() -> None:
    clock = SimulatedClock(0.0)
    failures = patience.Failures(600.0, clock)
    refused = judged("c", "no", status=400)
    clock.sleep(failures.one(refused))
    clock.sleep(patience.REFUSALS_S)
    with pytest.raises(CloudError):
        failures.one(refused)
    with pytest.raises(UsageError):
        patience.Failures(600.0, clock).one(UsageError("none"))


def test_one_thread_polls_for_all_and_less_often_over_time() -> None:
    clock, asked = SimulatedClock(0.0), list[int]()

    def looks(identities: Sequence[str]) -> Mapping[str, Look]:
        asked.append(len(identities))
        return {one: Look("booting") for one in identities if one != "9"}

    poller = patience.Poller(looks, 0.1, clock)
    identities = [str(k) for k in range(10)]
    for one in identities:
        poller.begin(one)
    assert poller.next("9").stage == "absent"
    assert asked == [10]
    while clock.now_s() < 60.0:
        assert poller.next("0").stage == "booting"
    assert len(asked) < 250
    poller.end("9")
    poller.next("0")
    assert asked[-1] == 9


def test_after_an_error_nobody_asks_before_the_cloud_wishes() -> None:
    clock, asked = SimulatedClock(0.0), list[float]()

    def busy(_: Sequence[str]) -> Mapping[str, Look]:
        asked.append(clock.now_s())
        raise judged("c", "slow", status=503, headers={"Retry-After": "5"})

    poller = patience.Poller(busy, 0.1, clock)
    poller.begin("a")
    for _ in range(3):
        with pytest.raises(CloudError):
            poller.next("a")
    poller.begin("b")
    with pytest.raises(CloudError):
        poller.next("b")
    assert all(later - sooner >= 5.0 for sooner, later in itertools.pairwise(asked))
