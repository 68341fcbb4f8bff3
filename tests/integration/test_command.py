"""Any program in real environments, and every way in which it fails, with nothing left behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from aferir import registry
from aferir.environments.base import Instance
from aferir.errors import AferirError, ProgramError, TimeoutExpired, UnverifiedError
from aferir.model.plan import EnvironmentSpec
from aferir.model.record import Sample, Warning
from aferir.programs.base import PROGRAM_FOLDER, read_parameters
from aferir.programs.command.program import COMMAND
from aferir.runner.repetition import command_line
from tests.asleep import nobody_elses
from tests.integration.support import own_state, usable

pytestmark = pytest.mark.integration
KINDS = registry.kinds()
MARK = nobody_elses()
"""Argument of sleep(1) that identifies processes which must not be left."""


@pytest.fixture(autouse=True)
def folder(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Path]:
    own_state(tmp_path_factory, monkeypatch)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert left() == []


@pytest.fixture(scope="module", params=["native", "container", "oci", "uml"])
def instance(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Instance]:
    with pytest.MonkeyPatch.context() as patch:
        own_state(tmp_path_factory, patch)
        kind = KINDS[request.param]
        spec = kind.spec(name="it", kind=kind.name, cpus=1, memory_bytes=2**28)
        assert isinstance(spec, EnvironmentSpec)
        made = usable(kind.name).allocate(spec)
        try:
            yield made
        finally:
            made.release()


def left() -> list[str]:
    """Command lines of processes on this host that should have ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        if MARK in line:
            found.append(line)
    return found


def measure(
    instance: Instance,
    table: Mapping[str, object] | None = None,
    /,
    *,
    limit_s: float | None = None,
    **keys: object,
) -> tuple[dict[str, float], set[str]]:
    """Samples and doubts of one repetition, with the parameters of both."""
    parameters = {**(table or {}), **keys}
    command = COMMAND.command(read_parameters(COMMAND, parameters))
    kind = KINDS[instance.spec.kind]
    if not kind.on_host:
        for file in (command.program, *command.files):
            instance.put(file, PROGRAM_FOLDER / file.name)
    done = instance.run(
        command_line(kind, command),
        timeout_s=limit_s,
        environment=command.environment,
        check=False,
    )
    parsed = COMMAND.parse(done.stdout)
    samples = {one.metric: one.value for one in parsed if isinstance(one, Sample)}
    return samples, {one.code for one in parsed if isinstance(one, Warning)}


def test_it_is_timed_and_its_figures_are_read(instance: Instance) -> None:
    samples, doubts = measure(
        instance,
        command=["sh", "-c", "sleep 0.1; echo rate 12.5; echo 7 > out"],
        figures=["rate_rps=regex:rate ([0-9.]+)", "seven=last@out"],
        verify="grep -q rate",
    )
    assert samples["duration_s"] >= 0.1
    assert samples["rate_rps"] == 12.5
    assert samples["peak_bytes"] > 0
    assert doubts == set()


def test_it_finds_its_files_as_they_were(instance: Instance, folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "x").write_text("before", encoding="utf-8")
    for _ in range(2):
        measure(
            instance,
            command=["sh", "-c", "test $(cat data/x) = before && echo after > data/x"],
            files=["data"],
            verify="test $(cat data/x) = after",
        )


def test_a_program_of_ones_own_is_taken_along(instance: Instance, folder: Path) -> None:
    (folder / "it").write_text("#!/bin/sh\necho $#\n", encoding="utf-8")
    (folder / "it").chmod(0o755)
    measure(instance, command=["./it", "a", "b c"], expect="2")


def test_a_service_runs_beside_it(instance: Instance) -> None:
    samples, _ = measure(
        instance,
        service=f"echo up > there; echo it is up; exec sleep {MARK}",
        ready="line is up",
        command="cat there",
        expect="up",
    )
    assert "service_user_s" in samples


def test_processes_that_a_program_leaves_behind_are_ended(instance: Instance) -> None:
    _, doubts = measure(instance, command=["sh", "-c", f"setsid sleep {MARK} & exit 0"])
    assert "left-running" in doubts
    assert left() == []


def test_there_is_no_terminal(instance: Instance) -> None:
    with pytest.raises(ProgramError):
        measure(instance, command=["sh", "-c", "read x < /dev/tty"])
    with pytest.raises(ProgramError):
        measure(instance, command=["sh", "-c", "read x"])


def test_output_of_any_kind_and_length_is_taken(instance: Instance) -> None:
    samples, doubts = measure(
        instance, command="head -c 64000000 /dev/urandom", verify="test $(wc -c) = 262144"
    )
    assert samples["duration_s"] > 0
    assert "output-cut" in doubts


def test_a_program_that_never_ends_is_ended_at_the_time_limit(instance: Instance) -> None:
    with pytest.raises(TimeoutExpired):
        measure(instance, limit_s=5.0, command=["sh", "-c", f"setsid sleep {MARK} & sleep {MARK}"])
    assert left() == []


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        (b"text", 0o644, "may not be executed"),
        (b"text", 0o755, "neither a program of this system nor a script"),
        (b"#!/usr/bin/none-such\n", 0o755, "script of `/usr/bin/none-such`"),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xf3\x00" + bytes(100), 0o755, "riscv"),
    ],
)
def test_a_file_that_is_no_program_is_reported(
    instance: Instance, folder: Path, content: bytes, mode: int, said: str
) -> None:
    (folder / "it").write_bytes(content)
    (folder / "it").chmod(mode)
    with pytest.raises(ProgramError) as error:
        measure(instance, command="./it")
    assert said in error.value.message
    assert error.value.remedy


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"command": "aferir-has-none-such"}, "no program `aferir-has-none-such`"),
        ({"command": "false"}, "exited with 1"),
        ({"command": ["sh", "-c", "kill -SEGV $$"]}, "SIGSEGV"),
        ({"command": "true", "prepare": "echo no; exit 3"}, "`prepare` failed"),
        ({"command": "true", "conclude": "exit 3"}, "`conclude` failed"),
        ({"command": "true", "service": "exit 1", "ready": "port 9"}, "`service` failed"),
        ({"command": "echo 1 2", "figures": ["x=regex:[0-9]"]}, "2 times"),
        ({"command": "echo no", "figures": ["x=regex:[0-9]"]}, "is not in its output"),
        ({"command": "echo no", "figures": ["x=last@none"]}, "did not write"),
    ],
)
def test_what_goes_wrong_is_told_apart(
    instance: Instance, table: dict[str, object], said: str
) -> None:
    with pytest.raises(AferirError) as error:
        measure(instance, table)
    assert said in error.value.message


def test_a_wrong_result_is_no_result(instance: Instance) -> None:
    for table in ({"expect": "right"}, {"verify": "grep right"}, {"expect_sha256": "0" * 64}):
        with pytest.raises(UnverifiedError):
            measure(instance, table, command="echo wrong")


def test_nothing_is_left_in_its_folder(instance: Instance) -> None:
    measure(instance, command=["sh", "-c", "pwd > /var/tmp/aferir-where; touch a"], verify="true")
    done = instance.run(["sh", "-c", "test ! -e $(cat /var/tmp/aferir-where) && echo gone"])
    instance.run(["rm", "/var/tmp/aferir-where"])
    assert done.stdout == "gone\n"
