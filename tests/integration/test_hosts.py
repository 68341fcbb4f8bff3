"""Connections to agents, through noisy shells, to incomplete hosts, and their ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec
import pytest

from aferir.environments.measured import Asked
from aferir.errors import MissingError, ProgramError, TimeoutExpired
from aferir.hosts import frames, messages, opening, reaching
from aferir.hosts.environment import Host, RemoteEnvironment
from aferir.hosts.line import Line
from aferir.linux import journal, process, undo
from aferir.model.host import HostSpec
from aferir.model.plan import EnvironmentSpec
from aferir.programs.kernels import kernel_path
from tests.asleep import nobody_elses
from tests.waiting import eventually

pytestmark = pytest.mark.integration
SPEC = EnvironmentSpec(name="n", kind="native", cpus=1, memory_bytes=2**28)
HOLDING = """
import sys
from aferir.hosts.environment import Host, RemoteEnvironment
from aferir.model.host import HostSpec
from aferir.model.plan import EnvironmentSpec
host = Host(HostSpec(name="x", reach=tuple(sys.argv[2:])))
spec = EnvironmentSpec(name="n", kind="native", cpus=1, memory_bytes=2**28, cpu_quota=0.5)
instance = RemoteEnvironment(host, "native").allocate(spec)
print("held", flush=True)
instance.run(["sleep", sys.argv[1]])
"""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def host(state: Path) -> Iterator[Host]:
    made = Host(HostSpec(name="x", reach=("env", f"AFERIR_STATE={state}")))
    yield made
    made.lose()


def script(folder: Path, text: str) -> tuple[str, ...]:
    """Command that runs a script of the shell."""
    path = folder / "reach"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return (str(path),)


def test_what_runs_there_is_as_it_is_here(host: Host, tmp_path: Path) -> None:
    environment = RemoteEnvironment(host, "native")
    assert [finding.status for finding in environment.check()] == ["ok"]
    instance = environment.allocate(SPEC)
    done = instance.run(["sh", "-c", "echo out; echo err >&2; exit 3"], check=False)
    assert (done.stdout, done.stderr, done.exit_code) == ("out\n", "err\n", 3)
    with pytest.raises(ProgramError, match="x: `false`"):
        instance.run(["false"])
    with pytest.raises(MissingError, match="x: "):
        instance.run(["no-such-program"])
    with pytest.raises(TimeoutExpired):
        instance.run(["sleep", "100"], timeout_s=0.2)
    fetched = tmp_path / "fetched"
    instance.get(PurePosixPath("/etc/hostname"), fetched)
    assert fetched.read_bytes() == Path("/etc/hostname").read_bytes()
    instance.release()
    assert instance.release() >= 0.0


def test_a_program_of_ours_is_measured_there(host: Host) -> None:
    instance = RemoteEnvironment(host, "native").allocate(SPEC)
    program = kernel_path("npb-ep")
    for _ in range(2):  # its content crosses the line once
        instance.put(program, PurePosixPath("/opt/aferir/npb-ep"))
    instance.pause()
    line = ("/opt/aferir/npb-ep", "--class", "S", "--threads", "1")
    measured = instance.measure(Asked(line=line, timeout_s=1000.0, load_period_s=60.0))
    assert measured.failure is None
    assert {one.metric for one in measured.series if one.began is None} == set()
    for one in measured.series:  # the clock there is ours: the bound holds what the line invents
        assert one.began is not None
        assert one.began.bound_ns > 0
    assert measured.done is not None
    assert '"verified":true' in measured.done.stdout
    assert measured.observed
    assert not Path("/opt/aferir/npb-ep").exists()
    instance.release()


def test_a_host_with_a_meter_tells_the_energy_of_each_run(state: Path, tmp_path: Path) -> None:
    """A model of which busy and idle take nearly as much: its power is known beforehand."""
    model = tmp_path / "power.json"
    model.write_text('{"peak_w": 80.0, "idle_w": 79.999}', encoding="utf-8")
    spec = HostSpec(name="x", reach=("env", f"AFERIR_STATE={state}"), power=f"model:{model}")
    host = Host(spec)
    try:
        instance = RemoteEnvironment(host, "native").allocate(SPEC)
        measured = instance.measure(Asked(line=("sleep", "0.5"), timeout_s=1000.0))
    finally:
        host.lose()
    assert measured.done is not None
    found = {one.metric: one for one in measured.observed}
    assert found["power_w"].value == pytest.approx(80.0, abs=0.01)
    seconds = found["energy_j"].value / found["power_w"].value
    assert seconds >= measured.done.duration_s


@pytest.mark.parametrize(
    "greeting",
    [
        "echo 'Welcome to node1'; printf 'no newline at the end'",
        "printf '\\377\\376 binary\\n'; seq 1 5000",
        "echo 'Message of the day' >&2; stty sane 2>/dev/null",
    ],
)
def test_what_a_host_prints_of_its_own_is_skipped_however_slow_it_is(
    tmp_path: Path, state: Path, greeting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "STEP_S", 0.0)
    reach = script(tmp_path, f'{greeting}\nAFERIR_STATE={state} exec "$@"')
    line = Line(HostSpec(name="x", reach=reach))
    line.close()


def test_what_a_login_leaves_running_is_not_waited_for(tmp_path: Path, state: Path) -> None:
    """Its process holds the output, which ends with it: were it waited for, this would not end."""
    stop = tmp_path / "stop"
    os.mkfifo(stop)
    writer = os.open(stop, os.O_RDWR)
    profile = f'(read -r _ < {stop}) &\nAFERIR_STATE={state} exec "$@"'
    host = Host(HostSpec(name="x", reach=script(tmp_path, profile)))
    try:
        RemoteEnvironment(host, "native").allocate(SPEC)
        assert host.close() == []
        assert not host.in_doubt
        assert not list(journal.entries())
    finally:
        os.write(writer, b"end\n")
        os.close(writer)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("exit 1", "ends at once"),
        ("echo 'Permission denied (publickey).' >&2; exit 255", "Permission denied"),
        ("echo 'Host key verification failed.' >&2; exit 255", "Host key verification failed"),
        ('PATH={bin}:$PATH exec "$@"', "its processor is riscv64"),
        ("PATH={bin} exec /bin/sh", "there is no Python"),
        ("echo 'This account is currently not available.'; exit 1", "is currently not available"),
        ("PATH={bin} exec /bin/sh", "its python3 does not start"),
    ],
)
def test_a_host_that_cannot_be_used_says_why(tmp_path: Path, text: str, said: str) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    machine = os.uname().machine if "ython" in said else "riscv64"
    (tools / "uname").write_text(f"#!/bin/sh\necho {machine}\n", encoding="utf-8")
    (tools / "uname").chmod(0o755)
    if "start" in said:
        (tools / "python3").symlink_to("/bin/false")
    reach = script(tmp_path, text.replace("{bin}", str(tools)))
    with pytest.raises(MissingError, match=said) as refused:
        Line(HostSpec(name="x", reach=reach))
    assert refused.value.remedy


def test_an_agent_that_cannot_start_says_why_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MissingError, match="cannot be made: Not a directory") as refused:
        Line(HostSpec(name="x", reach=("env", f"AFERIR_STATE={tmp_path / 'file'}")))
    assert refused.value.remedy.startswith("set AFERIR_STATE to a folder")


def test_a_terminal_in_between_is_told(state: Path) -> None:
    terminal = "import pty, sys; pty.spawn(sys.argv[1:])"
    reach = (sys.executable, "-c", terminal, "env", f"AFERIR_STATE={state}")
    with pytest.raises(MissingError, match="its input is a terminal") as refused:
        Line(HostSpec(name="x", reach=reach))
    assert "-it" in refused.value.remedy


def test_modules_of_others_do_not_stand_in_for_pythons_own(tmp_path: Path, state: Path) -> None:
    for name in ("hashlib", "zipfile", "tempfile", "msgspec"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)\n", encoding="utf-8")
    variables = f"PYTHONHOME=/nowhere PYTHONPATH={tmp_path} AFERIR_STATE={state}"
    reach = script(tmp_path, f'cd {tmp_path}; {variables} exec "$@"')
    line = Line(HostSpec(name="x", reach=reach))
    line.close()


def test_a_line_with_something_else_on_it_is_given_up(host: Host) -> None:
    line = host.line()
    source, sink = os.pipe()
    line._reader = frames.Reader(source)
    os.write(sink, b"cron: somebody prints to the terminal\n")
    with pytest.raises(ProgramError, match="no message"):
        line.look_at_its_clock()
    assert line.broken
    with pytest.raises(ProgramError, match="given up"):
        line.ask(messages.Describe(), messages.Host)
    for descriptor in (source, sink):
        os.close(descriptor)


def test_the_last_message_of_an_agent_answers_no_request(host: Host) -> None:
    """After a cut cable it came in place of the answer, and a `tell` took it for one."""
    line = host.line()
    reader, (source, sink) = line._reader, os.pipe()
    line._reader = frames.Reader(source)
    frames.write(sink, msgspec.msgpack.encode(messages.Answer(ended=True)))
    with pytest.raises(ProgramError, match="released everything"):
        line.tell(messages.Describe())
    assert line.broken
    line._reader = reader
    assert line.close()
    for descriptor in (source, sink):
        os.close(descriptor)


def test_a_host_that_says_nothing_is_refused_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that another ssh holds may be dead: its sessions hang, and do not end."""
    monkeypatch.setattr(opening, "STEP_S", 0.0)
    monkeypatch.setattr(opening, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(opening, "_LOGIN_S", 0.0)
    silent = "cat > /dev/null; :"  # the shell stays, with its output
    with pytest.raises(MissingError, match="does not answer within 0 s") as refused:
        Line(HostSpec(name="x", reach=("sh", "-c", silent)))
    assert "is it up" in refused.value.remedy
    held = 'case "$*" in "-O check"*) echo "Master running (pid=1)" >&2; exit; esac'
    ssh = Path(script(tmp_path, f"{held}; {silent}")[0]).rename(tmp_path / "ssh")
    with pytest.raises(MissingError, match="does not answer within 0 s") as refused:
        Line(HostSpec(name="x", reach=(str(ssh), "x")))
    assert f"{ssh} -O exit x" in refused.value.remedy


def test_a_host_that_is_not_there_leaves_the_others(state: Path) -> None:
    there = HostSpec(name="there", reach=("env", f"AFERIR_STATE={state}"))
    gone = HostSpec(name="gone", reach=("no-such-command",))
    hosts = reaching.connect([there, gone])
    try:
        asked = reaching.ask(hosts)
    finally:
        for host in hosts:
            host.lose()
    assert asked["there"].found is not None
    assert asked["gone"].found is None
    assert "gone" in asked["gone"].error


@pytest.mark.parametrize("end", ["controller", "line"])
def test_what_was_made_is_given_back_when_the_controller_has_gone(state: Path, end: str) -> None:
    reach, seconds = ("env", f"AFERIR_STATE={state}"), nobody_elses()
    background = ["env", "--ignore-signal=INT"]  # as a shell starts what is to run behind it
    child = process.start(
        [*background, sys.executable, "-c", HOLDING, seconds, *reach],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    assert {entry.kind for entry in journal.entries()} == {"cgroup", "scratch"}
    if end == "controller":
        child.kill()
    else:
        os.kill(child.pid, signal.SIGSTOP)  # as when a cable is cut: nothing ends, nothing comes
    eventually(lambda: not list(journal.entries()))
    assert not undo.processes(lambda words, _: words == ["sleep", seconds])
    child.kill()
    child.communicate()


def _kill_agent() -> None:
    for pid in {entry.owner_pid for entry in journal.entries()}:
        os.kill(pid, signal.SIGKILL)


def test_what_a_killed_agent_left_is_removed_when_its_host_is_done_with(host: Host) -> None:
    """No request follows that would have a new agent clean up."""
    RemoteEnvironment(host, "native").allocate(SPEC)
    _kill_agent()
    assert host.close() == []
    assert not list(journal.entries())


def test_a_host_that_is_gone_by_then_is_named(tmp_path: Path, state: Path) -> None:
    gone = tmp_path / "gone"
    reach = script(tmp_path, f'[ ! -e {gone} ] || exit 1\nAFERIR_STATE={state} exec "$@"')
    host = Host(HostSpec(name="x", reach=reach))
    RemoteEnvironment(host, "native").allocate(SPEC)
    gone.touch()
    _kill_agent()
    (said,) = host.close(within_s=0.0)
    assert "host x cannot be used" in said
    assert "aferir hosts clean" in said
    gone.unlink()
    assert host.close() == []
    assert not list(journal.entries())
