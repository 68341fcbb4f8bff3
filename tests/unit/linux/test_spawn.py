"""What a new process does to itself: by our program, and by Python where that is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from aferir import installed
from aferir.errors import ProgramError
from aferir.linux.spawn import Setup, spawn

_PR_SET_TIMERSLACK, _PR_GET_TIMERSLACK = 29, 30


@pytest.fixture(params=["program", "python"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Who sets the process up."""
    if request.param == "python":
        monkeypatch.setenv(installed.FOLDER_VARIABLE, str(tmp_path))
    else:
        installed.program("start")
    return str(request.param)


def said(command: Sequence[str], setup: Setup, handles: Sequence[int] = ()) -> tuple[str, int]:
    """What a program prints, and its exit code."""
    child = spawn(
        command,
        setup,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        variables=os.environ,
        directory=None,
        handles=handles,
    )
    text, _ = child.communicate()
    return text, child.returncode


def by_python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.mark.usefixtures("way")
def test_it_is_set_up_before_its_program_begins(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").touch()
    cpu = max(os.sched_getaffinity(0))
    setup = Setup(os.getpid(), (cpu,), (tmp_path,), ((_PR_SET_TIMERSLACK, 123456),))
    code = (
        "import ctypes, os, resource\n"
        "print(os.sched_getaffinity(0), resource.getrlimit(resource.RLIMIT_CORE))\n"
        "slack, ends = ctypes.CDLL(None).prctl, ctypes.c_int()\n"
        f"slack(2, ctypes.byref(ends)); print(slack({_PR_GET_TIMERSLACK}), ends.value)"
    )
    assert said(by_python(code), setup) == (f"{{{cpu}}} (0, 0)\n123456 9\n", 0)
    assert (tmp_path / "cgroup.procs").read_text() == "0"


@pytest.mark.usefixtures("way")
def test_it_inherits_what_it_is_given_and_nothing_else() -> None:
    source, sink = os.pipe()
    given = os.dup2(sink, 100)
    code = "import os; print([n for n in os.listdir('/proc/self/fd') if int(n) > 3])"  # 3: the list
    assert said(by_python(code), Setup(), (given,)) == ("['100']\n", 0)
    os.close(given)
    os.close(source)
    os.close(sink)


@pytest.mark.usefixtures("way")
def test_one_whose_maker_has_gone_does_not_begin() -> None:
    assert said(["echo", "begun"], Setup(parent=2**22)) == ("", 127)


@pytest.mark.usefixtures("way")
def test_one_to_which_the_kernel_refuses_a_control_does_not_begin() -> None:
    assert said(["echo", "begun"], Setup(controls=((99999, 1),))) == ("", 126)


@pytest.mark.usefixtures("way")
def test_a_program_is_looked_for_as_execvp_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / "tool").write_text("#!/bin/sh\necho $0 $1\n")
    (second / "tool").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/none:{first}:{second}:/bin")
    assert said(["tool", "a b"], Setup()) == (f"{second}/tool a b\n", 0)
    monkeypatch.chdir(second)
    monkeypatch.setenv("PATH", f"{first}::/bin")
    assert said(["tool", "here"], Setup())[0].endswith("tool here\n")
    monkeypatch.setenv("PATH", f"{first}:{tmp_path}/none")
    with pytest.raises(PermissionError):
        said(["tool"], Setup())
    with pytest.raises(FileNotFoundError):
        said(["absent"], Setup())
    with pytest.raises(FileNotFoundError):
        said([f"{tmp_path}/absent"], Setup())
    (second / "tool").write_text("echo without a first line that says by what\n")
    with pytest.raises(OSError, match="Exec format error"):
        said([f"{second}/tool"], Setup())


def test_a_group_that_is_gone_is_named(tmp_path: Path) -> None:
    installed.program("start")
    with pytest.raises(ProgramError, match=rf"`true` .*{tmp_path}/gone/cgroup.procs: No such file"):
        said(["true"], Setup(cgroups=(tmp_path / "gone",)))
    with pytest.raises(ProgramError, match="cpus=9999: Invalid argument"):
        said(["true"], Setup(cpus=(9999,)))
