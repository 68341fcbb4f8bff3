"""Whether missing answers mean that the sensor fails, or that there are no requests."""

from __future__ import annotations

from collections.abc import Callable

from aferir.colocation.answers import Answers
from aferir.colocation.histogram import Histogram
from aferir.colocation.sensors.base import Look
from aferir.colocation.settings import Sla
from aferir.colocation.silence import Silence

PERIOD_S = 0.1


def course(
    answers: Callable[[float], int], cpus: Callable[[float], float], seconds: float
) -> list[str]:
    """Result of each decision from the start on."""
    silence = Silence(0.0)
    return [
        silence.look(step * PERIOD_S, answers(step * PERIOD_S), cpus(step * PERIOD_S))
        for step in range(1, round(seconds / PERIOD_S))
    ]


def test_a_service_that_answers_steadily_or_rests_is_heard() -> None:
    assert set(course(lambda _: 3, lambda _: 0.3, 60)) == {""}
    assert set(course(lambda at: 3 * (at < 10), lambda at: 0.3 * (at < 10), 60)) == {""}
    # What collects its garbage now and then does not work for anybody.
    assert set(course(lambda at: 3 * (at < 10), lambda at: 0.3 if at < 10 else 0.005, 60)) == {""}


def test_a_service_with_few_requests_is_heard() -> None:
    few = course(lambda at: int(round(at * 10) % 50 == 0), lambda at: 0.1 * (at % 5 < 0.2), 120)
    assert set(few) == {""}


def test_a_log_that_falls_silent_while_the_service_works_is_told_and_until_it_is_heard() -> None:
    told = course(lambda at: 0 if 20 < at < 30 else 3, lambda _: 0.3, 25)
    assert set(told[:200]) == {""}
    assert told[-1].startswith("no answer was read for 3 s and more")


def test_a_log_that_never_said_anything_is_told() -> None:
    told = course(lambda _: 0, lambda _: 0.3, 5)
    assert told[10] == ""
    assert "while the service worked" in told[-1]
    assert set(course(lambda _: 0, lambda _: 0.0, 60)) == {""}


def test_answers_that_come_in_bursts_are_told_between_and_at_them() -> None:
    told = course(lambda at: 150 if round(at * 10) % 50 == 0 else 0, lambda _: 0.3, 30)
    assert all(told[120:])
    assert "bursts" in told[-1]


class _Says:
    helpers: tuple[int, ...] = ()

    def __init__(self, look: Look) -> None:
        self.say = look

    def look(self) -> Look:
        return self.say

    def close(self) -> None:
        pass


def test_requests_that_failed_are_part_of_the_service_level() -> None:
    sensor = _Says(Look(latencies=Histogram([0.01] * 50), failed=50))
    answers = Answers(sensor, Sla(0.95, 0.2), 0.0)
    for step in range(1, 20):
        answers.look(step * PERIOD_S)
        assert answers.blind(step * PERIOD_S, 0.5) == ""
    assert answers.latency is not None
    assert answers.latency.quantile_s > 0.2
    assert (answers.read.answers, answers.read.failed) == (1900, 950)
    sensor.say = Look(latencies=Histogram([0.01, 1.0]), failed=1, failed_within=True)
    answers.look(2.0)
    assert (answers.read.answers, answers.read.failed) == (1902, 951)


def test_a_decision_without_answers_of_then_is_blind() -> None:
    sensor = _Says(Look(latencies=Histogram()))
    answers = Answers(sensor, Sla(0.95, 0.2), 0.0)
    answers.look(0.1)
    assert answers.blind(0.1, 0.0) == "no answer was read yet"
    sensor.say = Look(latencies=Histogram([0.01] * 90), unread=10, each=3)
    answers.look(0.2)
    assert answers.blind(0.2, 0.5) == ""
    sensor.say = Look(latencies=Histogram(), problem="log: gone")
    answers.look(1.5)
    assert answers.blind(1.5, 0.0) == "log: gone"
    assert (answers.read.answers, answers.read.unread) == (270, 30)
