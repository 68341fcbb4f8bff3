"""A command that ends, and one whose node dies before, with real processes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from aferir.cluster.running import outlives


@pytest.fixture
def job() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as child:
        yield child
        child.kill()


@pytest.fixture
def node() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as child:
        yield child
        child.kill()


def test_a_job_is_outlived_by_no_node_that_died(
    job: subprocess.Popen[bytes], node: subprocess.Popen[bytes]
) -> None:
    node.kill()
    looks = iter((False, True))
    assert not outlives(job.pid, [node.pid], lambda: next(looks))
    node.wait()
    assert not outlives(job.pid, [node.pid], lambda: True), "it had died before"


def test_a_job_that_ended_needs_no_node(
    job: subprocess.Popen[bytes], node: subprocess.Popen[bytes]
) -> None:
    job.kill()
    node.kill()
    assert outlives(job.pid, [node.pid], lambda: False)
    assert job.wait() < 0


def test_the_end_of_a_process_without_which_a_node_lives_is_noticed_once(
    job: subprocess.Popen[bytes], node: subprocess.Popen[bytes]
) -> None:
    asked = []

    def lost() -> bool:
        asked.append(1)
        job.kill()
        return False

    node.kill()
    assert outlives(job.pid, [node.pid], lost)
    assert asked
