"""Requests to a JVM for the full names of its threads, with various obstacles in /tmp."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir.colocation import jvm, service
from aferir.linux import process
from tests.waiting import eventually

pytestmark = pytest.mark.integration
_JAVA = """
public class Pool { public static void main(String[] a) throws Exception {
  for (int i = 0; i < 2; i++) new Thread(() -> { try { Thread.sleep(600000); }
    catch (Exception e) {} }, "node[a long name][search][T#" + i + "]").start();
  System.out.println("ready"); System.out.flush(); Thread.sleep(600000); } }
"""
_NAMES = ["node[a long name][search][T#0]", "node[a long name][search][T#1]"]
_needs_javac = pytest.mark.skipif(
    shutil.which("javac") is None, reason="there is no javac (Debian: default-jdk)"
)
_NOBODY = pwd.getpwnam("nobody")
_AS_NOBODY = (
    *("setpriv", f"--reuid={_NOBODY.pw_uid}", f"--regid={_NOBODY.pw_gid}", "--clear-groups"),
    *("--pdeathsig", "KILL"),
)


@pytest.fixture(scope="module")
def program() -> Iterator[Path]:
    """Folder of a class that anybody may read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "Pool.java").write_text(_JAVA)
        process.run(["javac", "-d", name, str(folder / "Pool.java")])
        yield folder


@contextlib.contextmanager
def _running(program: Path, *before: str) -> Iterator[subprocess.Popen[str]]:
    java = ["java", "-XX:-UsePerfData", "-cp", str(program), "Pool"]
    child = process.start([*before, *java], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    try:
        yield child
    finally:
        process.end(child, grace_s=5.0)
        _socket_of(child.pid).unlink(missing_ok=True)


def _socket_of(pid: int) -> Path:
    return Path(f"/tmp/.java_pid{pid}")


def _searching(pid: int) -> list[str]:
    """Names of the threads that live for ever; others, such as compilers, may end meanwhile.

    A JVM that does not get a processor in time has told none: the controller asks again later.
    """
    told = eventually(lambda: jvm.thread_names(pid))
    found = {tid: name for tid, name in told.items() if "search" in name}
    assert found.keys() <= service.threads((pid,)).keys()
    return sorted(found.values())


@_needs_javac
def test_a_jvm_tells_the_full_names_that_the_kernel_cuts(program: Path) -> None:
    with _running(program) as child:
        assert _searching(child.pid) == _NAMES
        assert _searching(child.pid) == _NAMES
        assert child.poll() is None


@_needs_javac
@pytest.mark.parametrize("user", ["root", "nobody"])
def test_a_socket_that_a_dead_jvm_of_the_same_number_left_is_no_hindrance(
    program: Path, user: str
) -> None:
    if os.geteuid() != 0:
        pytest.skip("becoming somebody else takes root")
    with _running(program, *(_AS_NOBODY if user == "nobody" else ())) as child:
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(_socket_of(child.pid)))
            stale.listen()
        assert _searching(child.pid) == _NAMES
        assert child.poll() is None


@_needs_javac
def test_names_from_another_process_are_not_believed(program: Path) -> None:
    with _running(program) as child, socket.socket(socket.AF_UNIX) as other:
        other.bind(str(_socket_of(child.pid)))
        other.listen()
        assert jvm.thread_names(child.pid) == {}
        assert _socket_of(child.pid).exists()
        assert child.poll() is None


def test_a_program_that_the_signal_would_end_is_never_asked_for_its_threads() -> None:
    child = process.start(["sleep", "1000"])
    assert jvm.thread_names(child.pid) == {}
    assert child.poll() is None
    process.end(child)
