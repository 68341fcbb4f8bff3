from __future__ import annotations

import pytest

from aferir.clouds import removal
from aferir.clouds.provider import Consistency
from aferir.clouds.refused import CloudError, judged
from aferir.clouds.removal import Made
from aferir.errors import ProgramError
from tests.unit.clouds.simulated_cloud import LateCloud
from tests.unit.linux.simulated_clock import SimulatedClock

SLOW = Consistency(appears_s=60.0, apart_s=3.0)


def late_cloud(late_s: float = 0.0) -> LateCloud:
    return LateCloud(SimulatedClock(0.0), SLOW, late_s)


def test_an_end_is_believed_after_two_reports_some_time_apart() -> None:
    cloud = late_cloud()
    cloud.make("n")
    cloud.clock.sleep(100.0)
    began_s = cloud.clock.now_s()
    released_s = removal.remove(cloud, Made(name="n", identity="n", age_s=100.0), cloud.clock)
    assert cloud.lives() == set()
    assert cloud.clock.now_s() - began_s >= SLOW.apart_s
    assert released_s < SLOW.apart_s, "the time to make sure is no part of the release"


def test_an_end_that_the_cloud_shows_needs_a_second_answer_but_no_pause() -> None:
    cloud = late_cloud()
    cloud.tells_ends = True
    cloud.make("n")
    cloud.clock.sleep(100.0)
    began_s = cloud.clock.now_s()
    removal.remove(cloud, Made(name="n", identity="n", age_s=100.0), cloud.clock)
    assert cloud.lives() == set()
    assert cloud.clock.now_s() - began_s < SLOW.apart_s


@pytest.mark.parametrize("identity", ["", "n"])
@pytest.mark.parametrize("late_s", [1.0, 15.0])
def test_what_is_not_shown_yet_is_waited_for_and_removed(identity: str, late_s: float) -> None:
    cloud = late_cloud(late_s)
    cloud.make("n")
    removal.remove(cloud, Made(name="n", identity=identity, age_s=0.0), cloud.clock)
    assert cloud.lives() == set()


def test_nothing_is_forgotten_while_it_may_still_appear() -> None:
    cloud = late_cloud(50.0)
    cloud.make("n")
    with pytest.raises(ProgramError, match="not certain") as caught:
        removal.remove(cloud, Made(name="n", age_s=0.0), cloud.clock)
    assert "aferir clean" in caught.value.remedy
    cloud.clock.sleep(60.0)
    removal.remove(cloud, Made(name="n", age_s=cloud.clock.now_s()), cloud.clock)
    assert cloud.lives() == set()


def test_what_the_cloud_refused_to_make_is_not_waited_for() -> None:
    cloud = late_cloud()
    removal.remove(cloud, Made(name="n", age_s=0.0, refused=True), cloud.clock)
    assert cloud.clock.now_s() <= 2 * SLOW.apart_s


def test_what_was_never_made_is_forgotten_once_it_would_have_appeared() -> None:
    cloud = late_cloud()
    removal.remove(cloud, Made(name="n", age_s=SLOW.appears_s), cloud.clock)
    assert cloud.asked >= 2


def test_a_cloud_that_throttles_is_asked_again_and_loses_nothing() -> None:
    cloud = late_cloud()
    cloud.make("n")
    cloud.errors = [judged("a cloud", "slow down", status=429) for _ in range(5)]
    removal.remove(cloud, Made(name="n", identity="n"), cloud.clock)
    assert cloud.lives() == set()


def test_an_end_that_is_refused_is_said_in_the_clouds_words() -> None:
    class Protected(LateCloud):
        def remove(self, identity: str) -> bool:
            raise judged("a cloud", "OperationNotPermitted: it is protected", status=400)

    cloud = Protected(SimulatedClock(0.0), SLOW, 0.0)
    cloud.make("n")
    with pytest.raises(CloudError, match="it is protected"):
        removal.remove(cloud, Made(name="n", identity="n"), cloud.clock)
    assert cloud.clock.now_s() < 30.0


def test_an_instance_that_stays_is_an_error() -> None:
    class Deaf(LateCloud):
        def remove(self, identity: str) -> bool:
            return True

    cloud = Deaf(SimulatedClock(0.0), SLOW, 0.0)
    cloud.make("n")
    with pytest.raises(ProgramError, match="still there"):
        removal.remove(cloud, Made(name="n", identity="n"), cloud.clock)
