"""The launcher's report: its samples, and how each kind of failure is reported."""

from __future__ import annotations

import base64
import json

import msgspec
import pytest

from aferir.errors import AferirError, MissingError, ProgramError, UnverifiedError
from aferir.model.record import Sample, Warning
from aferir.programs.command.figures import read_spec
from aferir.programs.command.format import explain_file
from aferir.programs.command.report import Expected, read


def text(written: str | bytes) -> str:
    return base64.b64encode(written if isinstance(written, bytes) else written.encode()).decode()


def report(expected: Expected | None = None, **changes: object) -> str:
    echo = msgspec.json.decode(msgspec.json.encode(expected or Expected()))
    values = {
        "program": "command",
        "duration_s": 0.5,
        "exit_code": 0,
        "user_s": 0.25,
        "system_s": 0.125,
        "peak_bytes": 4096,
        "out": text("done\n"),
        "out_bytes": 5,
        "err": "",
        "left": 0,
        "aside_s": 0.01,
        "reports": {},
        "echo": echo,
        **changes,
    }
    return "noise of an attach\n" + json.dumps({k: v for k, v in values.items() if v is not None})


def samples(stdout: str) -> dict[str, float]:
    return {one.metric: one.value for one in read(stdout) if isinstance(one, Sample)}


def doubts(stdout: str) -> set[str]:
    return {one.code for one in read(stdout) if isinstance(one, Warning)}


def test_time_and_what_was_used_are_samples() -> None:
    found = samples(report())
    assert found["duration_s"] == 0.5
    assert found["cpu_s"] == 0.375
    assert found["peak_bytes"] == 4096


def test_a_figure_of_that_name_is_the_duration() -> None:
    expected = Expected(figures=(read_spec("duration_s=regex:in ([0-9.]+)"),))
    assert samples(report(expected, out=text("in 0.4")))["duration_s"] == 0.4


def test_only_an_unverified_result_raises_a_warning() -> None:
    assert doubts(report()) == {"not-verified"}
    assert doubts(report(Expected(verified=True))) == set()
    assert doubts(report(Expected(output="done"))) == set()
    assert doubts(report(Expected(sha256="ab" * 32), out_sha256="ab" * 32)) == set()


def test_left_processes_and_too_much_output_raise_warnings() -> None:
    assert "left-running" in doubts(report(left=2))
    expected = Expected(figures=(read_spec("x=regex:do(\\d*)"), read_spec("y=last")))
    with pytest.raises(ProgramError):
        read(report(expected, out_bytes=10**9))
    assert "output-cut" in doubts(report(Expected(verified=True), out_bytes=10**9))
    assert "output-cut" not in doubts(report(out_bytes=10**9))


@pytest.mark.parametrize(
    ("expected", "changes"),
    [
        (Expected(output="other"), {}),
        (Expected(sha256="00" * 32), {"out_sha256": "11" * 32}),
        (Expected(verified=True), {"stage": "verify", "said": text("exit code 1: ")}),
    ],
)
def test_a_wrong_result_gives_no_figure(expected: Expected, changes: dict[str, object]) -> None:
    with pytest.raises(UnverifiedError):
        read(report(expected, **changes))


NOT_RUN: dict[str, object] = {"stage": "execute", "duration_s": None, "exit_code": None}


@pytest.mark.parametrize(
    ("changes", "said", "remedy"),
    [
        ({"exit_code": 3, "err": text("a\nno disk\n")}, "exited with 3: a / no disk", "files"),
        ({"exit_code": -11}, "ended by SIGSEGV", ""),
        ({"stage": "prepare", "said": text("exit code 2: no rule"), "exit_code": None},
         "`prepare` failed before the program ran: exit code 2: no rule", "by hand"),
        ({"stage": "input", "said": text("x: No such file"), "exit_code": None, "duration_s": None},
         "`input` cannot be opened: x: No such file", "`prepare`"),
        ({"stage": "conclude", "said": text("exit code 1: ")}, "`conclude` failed", ""),
        ({**NOT_RUN, "errno": 13, "path": text("./it")}, "may not be executed", "chmod +x ./it"),
        ({**NOT_RUN, "errno": 2}, "no program `sort`", 'packages = ["coreutils"]'),
        ({**NOT_RUN, "errno": 8, "path": text("./it"), "header": text("text")},
         "neither a program of this system nor a script", "#!/bin/sh"),
        ({**NOT_RUN, "errno": 8, "path": text("./it")}, "`./it` is empty", "built"),
        ({**NOT_RUN, "errno": 2, "path": text("./it"), "header": text("#!/usr/bin/perl -w\n")},
         "script of `/usr/bin/perl`", "packages"),
        ({"exit_code": 127,
          "err": text("x: error while loading shared libraries: libz.so.1: cannot open shared")},
         "the library libz.so.1 is not in this environment", 'packages = ["zlib1g"]'),
    ],
)  # fmt: skip
def test_each_way_of_going_wrong_is_told_apart(
    changes: dict[str, object], said: str, remedy: str
) -> None:
    expected = Expected(program="sort", owners={"": "coreutils", "libz.so.1": "zlib1g"})
    with pytest.raises(AferirError) as error:
        read(report(expected, **changes))
    assert said in error.value.message
    assert remedy in error.value.remedy


@pytest.mark.parametrize(
    ("program", "remedy"),
    [
        ("--in", "before --"),
        ("./sum", "build it"),
        ("sleep 1 | cat", "without a shell"),
        ("cd", "`script`"),
    ],
)
def test_a_program_that_does_not_exist_is_told_by_its_name(program: str, remedy: str) -> None:
    with pytest.raises(MissingError) as error:
        read(report(Expected(program=program), **{**NOT_RUN, "errno": 2}))
    assert remedy in error.value.remedy


def test_what_is_no_report_is_told() -> None:
    for stdout in ("", "no", '{"program": 1}', "\x00" * 100):
        with pytest.raises(ProgramError, match="did not live to report"):
            read(stdout)


def test_programs_of_other_machines_are_named() -> None:
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xb7\x00"
    wrong = explain_file(header, "x86_64")
    assert wrong is not None
    assert "aarch64" in wrong.message
    own = explain_file(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\x3e\x00", "x86_64")
    assert own is not None
    assert "loader" in own.message
    windows = explain_file(b"#!/bin/sh\r\necho\r\n")
    assert windows is not None
    assert "carriage return" in windows.message
    assert "sed -i" in windows.remedy
    assert explain_file(b"") is None
