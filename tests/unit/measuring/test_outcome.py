"""Codes of the reasons why a cell has no figures."""

from __future__ import annotations

import pytest

from aferir.errors import MissingError
from aferir.linux.process import Completed
from aferir.measuring.outcome import MORE_MEMORY, complaint, failure_of, told_apart
from aferir.model.record import Failure, Sample
from aferir.probes.memory import KILLS, MemoryProbe

FAILED = Failure("program", "`x` exited with 1: it says why")


def done(stderr: str = "", exit_code: int = 1, others: tuple[Completed, ...] = ()) -> Completed:
    return Completed(
        command=("x",),
        exit_code=exit_code,
        stdout="",
        stderr=stderr,
        duration_s=1.0,
        started_unix_ns=0,
        others=others,
    )


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        (done("x: no space left on the device while writing y"), "disk-full"),
        (done("java.io.IOException: No space left on device"), "disk-full"),
        (done("the disk is full: mariadbd found no space for its files"), "disk-full"),
        (done("x: needs 9 MiB of memory and 2 MiB are available"), "out-of-memory"),
        (done("out of memory: the kernel killed java"), "out-of-memory"),
        (done("x: a process of it was killed, by the kernel or by somebody", 5), "killed"),
        (done("java was ended by SIGKILL"), "killed"),
        (done(exit_code=-9), "killed"),
        (done("wrong option --kill"), "program"),
    ],
)
def test_a_failure_is_told_by_what_the_program_says(ended: Completed, code: str) -> None:
    found = told_apart(FAILED, ended, ())
    assert found.code == code
    assert found.remedy or code != "killed"


def test_what_the_kernel_counts_goes_before_what_a_program_guesses() -> None:
    found = told_apart(FAILED, done(exit_code=-9), [Sample(KILLS, 2.0, "processes", "instance")])
    assert found.code == "out-of-memory"
    assert found.message.startswith("out of memory: the kernel killed 2 processes")
    assert FAILED.message in found.message


def test_a_failure_keeps_the_remedy_under_whatever_code_it_ends() -> None:
    made = failure_of("program", MissingError("no nginx", remedy="apt-get install nginx"), "so: {}")
    assert made == Failure("program", "so: no nginx", "apt-get install nginx")
    assert failure_of("instance", OSError(5, "gone")).remedy == ""
    kills = [Sample(KILLS, 1.0, "processes", "instance")]
    remedy = told_apart(made, done(exit_code=-9), kills).remedy
    assert remedy == f"{MORE_MEMORY}; {made.remedy}"


def test_what_a_program_of_ours_complains_of_is_kept_with_its_remedy() -> None:
    line = '{"error": {"message": "no root", "remedy": "sudo", "exit_code": 3}}'
    assert complaint(f"progress\n{line}\n") == Failure("program", "no root", "sudo")
    for other in ("", "x", "{}", '{"error": "no"}', '{"error": {"remedy": "x"}}', f"{line}\nx"):
        assert complaint(other) is None


def test_a_tenant_that_failed_alone_is_heard() -> None:
    beside = done("No space left on device")
    assert told_apart(FAILED, done("", 0, (beside,)), ()).code == "disk-full"


def test_other_failures_and_those_without_an_end_keep_their_code() -> None:
    kills = [Sample(KILLS, 1.0, "processes", "instance")]
    for code in ("time-limit", "unverified", "missing"):
        assert told_apart(Failure(code, ""), done(exit_code=-9), kills).code == code
    assert told_apart(FAILED, None, kills) == FAILED


@pytest.mark.parametrize(
    "path", ["cgroup:memory/memory.oom_control", "cgroup:unified/memory.events", "/proc/vmstat"]
)
def test_kills_are_counted_by_group_or_guest_and_told_where_there_were_any(path: str) -> None:
    before = {path: "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"}
    after = {path: before[path].replace("3", "5")}
    probe = MemoryProbe()
    assert Sample(KILLS, 2.0, "processes", "instance") in probe.samples(
        before, after, 1, "instance"
    )
    for first, side in ((after, "instance"), (before, "host")):
        seen = probe.samples(first, after, 1, "instance" if side == "instance" else "host")
        assert KILLS not in {sample.metric for sample in seen}
