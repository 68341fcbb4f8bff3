"""Helpers for the tests of all environments."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import pytest

from aferir import registry
from aferir.environments.base import Environment, Instance
from aferir.environments.uml.guest import Guest
from aferir.errors import MissingError, ProgramError, TimeoutExpired
from aferir.image import userland
from aferir.image.userland import Image
from aferir.linux import cgroup, journal, namespace, undo
from aferir.linux.process import Completed
from aferir.model.plan import EnvironmentKind, EnvironmentSpec
from tests.asleep import nobody_elses
from tests.waiting import eventually

Runs = Instance | Guest
"""Instance or environment: it runs programs and receives files."""
SPIN = "while :; do :; done"


def usable(kind: EnvironmentKind) -> Environment:
    """The environment, its image ready; skips with the remedy where this machine lacks it."""
    environment = registry.by_kind(kind)
    for finding in environment.check():
        if finding.status == "missing":
            pytest.skip(f"{finding.message}; {finding.remedy}")
    environment.prepare()
    return environment


def built() -> Image:
    """The image that all environments start from; skips where it can be neither found nor built."""
    for finding in userland.check():
        pytest.skip(f"{finding.message}; {finding.remedy}")
    return userland.ensure()


def own_state(tmp_path_factory: pytest.TempPathFactory, patch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own; the image stays where it is cached."""
    folder = tmp_path_factory.mktemp("state")
    patch.setenv("AFERIR_STATE", str(folder))
    return folder


def allocated(environment: Environment, spec: EnvironmentSpec) -> Iterator[Instance]:
    """An instance, and the check that nothing of it is left."""
    instance = environment.allocate(spec)
    try:
        yield instance
    finally:
        instance.release()
    assert leftovers() == []


def leftovers() -> list[str]:
    """Processes, mounts and groups left of instances in the current state folder's journal."""
    state = journal.state_folder()
    found = [f"journal: {entry}" for entry in journal.entries()]
    found += [f"folder: {path}" for path in state.glob("*/aferir-*")]
    text = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    found += [f"mount: {path}" for path in undo.mounts_below(state, text)]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(state) in line:
            found.append(f"process: {process.name} {line}")
    return found


def namespaces_of(state: Path) -> list[Path]:
    """Network namespaces made for that state folder, whose journal's IDs share a beginning."""
    return sorted(namespace.FOLDER.glob(f"aferir-{journal.family(state)}*"))


def groups_of(ids: list[str]) -> list[Path]:
    """Control groups left of those entries."""
    have = cgroup.layout()
    return [path for name in ids for path in cgroup.find(f"aferir-{name}", have)]


def check_commands(instance: Runs) -> None:
    """Exit codes, signals, output and environment are those of the program."""
    done = instance.run(["sh", "-c", "echo out; echo err >&2; exit 7"], check=False)
    assert (done.exit_code, done.stdout, done.stderr) == (7, "out\n", "err\n")
    assert instance.run(["sh", "-c", "kill -9 $$"], check=False).exit_code == -9
    done = instance.run(["sh", "-c", 'echo "$ONE"'], environment={"ONE": "two words"})
    assert done.stdout == "two words\n"
    assert done.command == ("sh", "-c", 'echo "$ONE"')
    with pytest.raises(ProgramError, match="exited with 3"):
        instance.run(["sh", "-c", "exit 3"])
    with pytest.raises(MissingError):
        instance.run(["/no/such/program"])
    big = instance.run(["head", "-c", "300000", "/dev/zero"])
    assert len(big.stdout) == 300_000


def check_timeout(instance: Runs) -> None:
    """A time limit ends the program and what it started."""
    seconds = nobody_elses()  # some kinds show the processes of the host
    sleep = f"sleep {seconds}"
    with pytest.raises(TimeoutExpired, match=r"1 s"):
        instance.run(["sh", "-c", f"{sleep} & setsid {sleep} & {SPIN}"], timeout_s=1.0)
    words = "cat /proc/[0-9]*/cmdline 2> /dev/null | tr '\\0' '\\n'"
    assert seconds not in instance.run(["sh", "-c", words]).stdout.splitlines()


def check_files(instance: Runs, tmp_path: Path, inside: PurePosixPath | None = None) -> None:
    """A file goes in with its mode, runs there, and comes back unchanged."""
    source = tmp_path / "script"
    source.write_bytes(b"#!/bin/sh\nwc -c < $0\nexit 0\n" + bytes(range(256)) * 8192)
    source.chmod(0o755)
    target = (inside or PurePosixPath(tmp_path) / "deep") / "script"
    instance.put(source, target)
    assert instance.run([str(target)]).stdout.strip() == str(source.stat().st_size)
    instance.get(target, tmp_path / "back/script")
    assert (tmp_path / "back/script").read_bytes() == source.read_bytes()
    with pytest.raises(ProgramError):
        instance.get(PurePosixPath("/no/such/file"), tmp_path / "none")


def quota(groups: Mapping[str, Path]) -> float:
    """CPUs that the members of an instance's control groups may use, by the kernel."""
    if "cpu" in groups:
        return _number(groups["cpu"] / "cpu.cfs_quota_us") / _number(
            groups["cpu"] / "cpu.cfs_period_us"
        )
    allowed, period = (groups["unified"] / "cpu.max").read_text().split()
    return int(allowed) / int(period)


def _number(path: Path) -> int:
    return int(path.read_text())


def _lift(groups: Mapping[str, Path]) -> None:
    """Take the quota of CPU time away from an instance's control groups."""
    if "cpu" in groups:
        (groups["cpu"] / "cpu.cfs_quota_us").write_text("-1", encoding="ascii")
    else:
        (groups["unified"] / "cpu.max").write_text("max", encoding="ascii")


def throttled(groups: Mapping[str, Path]) -> int:
    """Number of periods in which its processes used up their quota."""
    text = (groups.get("cpu", groups.get("unified", Path())) / "cpu.stat").read_text()
    pairs = dict(line.split() for line in text.splitlines())
    return int(pairs["nr_throttled"])


class Spinning:
    """A program that computes without end, in an instance."""

    def __init__(self, instance: Instance, program: Future[Completed], started: str) -> None:
        self._instance, self._program, self._started = instance, program, started

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition; fail if the program ends first."""
        eventually(lambda: self._program.done() or condition())
        assert not self._program.done(), self._program.result()

    def until_it_computes(self) -> None:
        """Wait until it has started, and no longer enters the instance."""
        look = ["test", "-e", self._started]
        self.until(lambda: self._instance.run(look, check=False).exit_code == 0)


@contextmanager
def spinning(instance: Instance) -> Iterator[Spinning]:
    """A program in it that computes until the block ends."""
    started, stop = (f"/tmp/aferir-{word}-{uuid.uuid4().hex}" for word in ("started", "stop"))
    script = f": > {started}; while ! [ -e {stop} ]; do :; done; rm {started} {stop}"
    with ThreadPoolExecutor(1) as thread:
        program = thread.submit(instance.run, ["sh", "-c", script])
        try:
            yield Spinning(instance, program, started)
        finally:
            instance.run(["touch", stop])
    program.result()


def check_quota(instance: Instance, cpus: float) -> None:
    """The kernel holds the instance to so much: a program that asks for more is throttled."""
    groups = instance.accounting.cgroups
    assert quota(groups) == pytest.approx(cpus)
    with spinning(instance) as program:
        program.until(lambda: throttled(groups) > 3)
        _lift(groups)  # what stops it would share a tenth of a processor with it, for minutes


def check_pause(instance: Instance, used: Callable[[], float]) -> None:
    """A paused instance uses no CPU time, by the account `used`, and continues afterwards."""
    with spinning(instance) as program:
        program.until_it_computes()
        instance.pause()
        try:
            paused = used()
            time.sleep(0.3)
            still = used()
        finally:
            instance.resume()  # a program that is to stop cannot do so before
        assert still == paused
        program.until(lambda: used() > paused)


def cpu_s(stats: Iterable[Path]) -> float:
    """CPU time that the threads with those stat files have used (proc(5), fields 14 and 15)."""
    total = 0
    for path in stats:
        fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / 100


def first_answer(address: str, asked: float) -> float:
    """Seconds until a client that asks without a pause gets an answer with status 200."""
    while time.perf_counter() < asked + 500:
        connection = http.client.HTTPConnection(address, timeout=0.2)
        try:
            connection.request("GET", "/video.mp4")
            if connection.getresponse().status == 200:
                return time.perf_counter() - asked
        except (OSError, http.client.HTTPException):
            time.sleep(0.01)
        finally:
            connection.close()
    return float("inf")


def killed_after(
    seconds: float, program: str, *arguments: str, once: Callable[[], object] = lambda: True
) -> None:
    """Run `program` and kill it, it alone, so long after it has said that it goes on.

    `once`: what has to be true as well before the time begins.
    """
    child = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"go\n"
        eventually(lambda: once() or child.poll() is not None)
        time.sleep(seconds)
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
