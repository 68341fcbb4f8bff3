"""Lines to agents that end while somebody uses them, or was about to."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from aferir import registry
from aferir.errors import ProgramError
from aferir.hosts import hearing, messages, relayed
from aferir.hosts.environment import Host, RemoteEnvironment
from aferir.hosts.relayed import Relayed
from aferir.linux import journal, undo
from aferir.model.host import HostSpec
from tests.asleep import nobody_elses
from tests.integration.test_hosts import SPEC, script
from tests.waiting import eventually

pytestmark = pytest.mark.integration
LEFT = """
"$AFERIR_ENTER" there 'echo > {mark}; exec sleep {seconds}' > /dev/null 2>&1 &
read -r _ < {mark}
"""
"""A program that leaves a command running on the other host."""


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(HostSpec(name="x", reach=("env", f"AFERIR_STATE={tmp_path / 'state'}")))


def test_nothing_is_sent_on_a_line_that_is_closed(host: Host) -> None:
    """A file that was opened later may have the number of its handle: it got keep-alives."""
    line = host.line()
    assert line.close()
    source, sink = os.pipe()
    line._sink = sink
    line.greet()
    with pytest.raises(ProgramError, match="given up"):
        line.tell(messages.Describe())
    os.close(sink)
    assert os.read(source, 1) == b""
    os.close(source)


def test_the_reason_is_told_that_comes_after_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ssh tells it, whose standard output ends first."""
    monkeypatch.setattr(hearing, "_ENDING_S", 600.0)
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path))
    known = tmp_path / "known"
    os.mkfifo(known)
    ending = f'"$@"; exec >&-; read -r _ < {known}; echo "closed by remote host" >&2; exit 255'
    host = Host(HostSpec(name="x", reach=script(tmp_path, ending)))
    instance, line = RemoteEnvironment(host, "native").allocate(SPEC), host.line()

    def end() -> None:
        eventually(lambda: line.broken)
        known.write_text("\n", encoding="ascii")

    for pid in {entry.owner_pid for entry in journal.entries()}:
        os.kill(pid, signal.SIGKILL)
    later = threading.Thread(target=end)
    later.start()
    with pytest.raises(ProgramError, match=r"is broken: .* \(closed by remote host\)"):
        instance.run(["true"])
    later.join()
    host.lose()
    assert registry.clean(journal.orphans()) == []


def test_a_command_that_a_program_leaves_on_another_host_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next request there would have read what the command's answer was."""
    mark, seconds = tmp_path / "mark", nobody_elses()
    os.mkfifo(mark)
    hosts = [
        Host(HostSpec(name=name, reach=("env", f"AFERIR_STATE={tmp_path / name}")))
        for name in ("here", "there")
    ]
    here, there = (RemoteEnvironment(one, "native").allocate(SPEC) for one in hosts)
    ways = Relayed(hosts[0], [here, there], ("here", "there"), ("127.0.0.1", "127.0.0.1"))
    try:
        monkeypatch.setattr(relayed, "_STEP_S", 0.0)
        with ways.served(None):
            program = LEFT.format(mark=mark, seconds=seconds)
            here.run(["sh", "-c", program], environment=ways.variables())
        with pytest.raises(ProgramError, match="there is broken"):
            there.run(["true"])
        there.release()
        eventually(lambda: not undo.processes(lambda words, _: words == ["sleep", seconds]))
        assert here.run(["echo", "goes on"]).stdout == "goes on\n"
    finally:
        ways.release()
        for one in hosts:
            one.lose()
