"""`aferir clock serve` and `clock sync`: on the loopback, down a tree, and between two hosts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aferir.cli import main
from aferir.clock.verbs import options
from aferir.errors import ClockError
from aferir.linux import process
from tests.integration.support import own_state

try:
    from aferir.clock import _native
except ImportError as error:
    pytest.skip(str(error), allow_module_level=True)

SET_WITHIN_S = 1.0
"""The served time was set to the system clock by a process that may have lost the processor."""
AFERIR = [sys.executable, "-m", "aferir", "clock"]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "clock.key"
    path.write_text("5a" * 32)
    path.chmod(0o600)
    return path


class Running:
    """A verb in the foreground of its own process, read line by line."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self.child = child

    def line(self) -> dict[str, Any]:
        assert self.child.stdout is not None
        text = self.child.stdout.readline()
        assert text, "it has ended"
        found: dict[str, Any] = json.loads(text)
        return found

    def until(self, event: str) -> dict[str, Any]:
        while (found := self.line())["event"] != event:
            pass
        return found

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, dict[str, Any]]:
        """Stop it; return the exit code and the last line."""
        self.child.send_signal(number)
        assert self.child.stdout is not None
        last = self.child.stdout.readlines()[-1:]
        return self.child.wait(), json.loads(last[0]) if last else {}


@contextmanager
def running(
    *words: str, inside: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> Iterator[Running]:
    command = [*inside, *AFERIR, *words, "--json", "--interval", "0.05"]
    child = process.start(command, stdout=subprocess.PIPE, environment=environment)
    try:
        yield Running(child)
    finally:
        process.end(child)


def sync(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Output of `sync`, which is begun again where the server did not get to answer in time."""
    while (code := main(["clock", "sync", *words])) == ClockError.exit_code:
        capsys.readouterr()
    assert code == 0
    return capsys.readouterr().out


@contextmanager
def following(*words: str) -> Iterator[tuple[Running, dict[str, Any]]]:
    """A `sync` that goes on, and its first line; begun again as by `sync`."""
    while True:
        with running("sync", *words) as client:
            found = client.line()
            if "error" not in found:
                yield client, found
                return
        assert found["error"]["exit_code"] == ClockError.exit_code


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_one_look_over_the_loopback(
    address: str, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if address == "::1" and not Path("/proc/net/if_inet6").exists():
        pytest.skip("there is no IPv6 here")
    with running("serve", "--address", address, "--port", "0", "--key", str(key)) as server:
        port = str(server.line()["port"])
        words = (address, "--port", port, "--key", str(key), "--once", "--json")
        found = json.loads(sync(capsys, *words))
        assert abs(found["offset_s"]) < found["bound_s"] + SET_WITHIN_S
        assert found["bound_s"] > 0
        assert (found["looks"], found["level"]) == (1, 1)
        assert found["dropped"] <= found["lost"]  # what comes too late on a busy machine
        assert found["exchanges"] > found["lost"]  # how many more, tests on simulated time ask
        assert server.stop()[1]["answered"] >= found["exchanges"] - found["lost"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_cleanly(number: int, key: Path) -> None:
    with running("serve", "--port", "0", "--key", str(key)) as server:
        assert server.line()["event"] == "serving"
        code, last = server.stop(number)
    assert code == 0
    assert last["event"] == "ended"


def test_the_first_server_makes_a_key_that_is_its_owners(tmp_path: Path) -> None:
    path = tmp_path / "made" / "clock.key"
    with running("serve", "--port", "0", "--key", str(path)) as server:
        assert server.line()["key_is_new"] is True
    assert path.stat().st_mode & 0o777 == 0o600
    with running("serve", "--port", "0", "--key", str(path)) as server:
        assert server.line()["key_is_new"] is False


def test_a_second_look_gives_the_rate_and_watching_a_growing_bound(key: Path) -> None:
    with running("serve", "--port", "0", "--key", str(key)) as server:
        port = str(server.line()["port"])
        words = ("127.0.0.1", "--port", port, "--key", str(key), "--watch")
        with following(*words) as (client, found):
            assert found["looks"] == 2
            assert abs(found["rate"]) <= found["rate_uncertainty"] + 0.25e-6
            first = client.until("status")
            for _ in range(10):
                last = client.until("status")
            assert last["bound_s"] > first["bound_s"]
            assert last["elapsed_s"] > first["elapsed_s"]
            assert client.stop()[0] == 0


def test_a_node_that_was_set_serves_the_next_level(
    key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running("serve", "--port", "0", "--key", str(key)) as root:
        upper = ["127.0.0.1", "--port", str(root.line()["port"]), "--key", str(key)]
        below = ("--once", "--serve", "127.0.0.1", "--serve-port", "0")
        with following(*upper, *below) as (node, set_by):
            serving = node.until("serving")
            lower = ["127.0.0.1", "--port", str(serving["port"]), "--key", str(key), "--once"]
            found = json.loads(sync(capsys, *lower, "--json"))
            assert (found["level"], found["timeline"]) == (2, set_by["timeline"])
            while node.until("status")["served"]["answered"] == 0:
                pass  # lines from before it was asked


def test_a_wrong_key_is_an_error_here_and_counted_there(
    key: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.key"
    other.write_text("a5" * 32)
    other.chmod(0o600)
    with running("serve", "--port", "0", "--key", str(key)) as server:
        port = str(server.line()["port"])
        assert main(["clock", "sync", "127.0.0.1", "--port", port, "--key", str(other)]) == 4
        assert "with this very key" in capsys.readouterr().err
        assert server.stop()[1]["foreign"] > 0


def test_errors_have_remedies(key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clock", "sync", "127.0.0.1", "--port", "9", "--key", str(key)]) == 4
    assert "is `aferir clock serve` running there" in capsys.readouterr().err
    assert main(["clock", "sync", "127.0.0.1", "--key", str(key) + ".none"]) == 2
    assert "copy it from the server" in capsys.readouterr().err
    key.chmod(0o644)
    assert main(["clock", "serve", "--key", str(key)]) == 2
    assert "chmod 600" in capsys.readouterr().err


def test_a_counter_that_is_not_constant_is_refused_unless_told(
    key: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {**_native.rvec_facts(), "invariance": 0}
    monkeypatch.setattr("aferir.clock.rvec.rvec_facts", lambda: dict(facts))
    for verb in (["serve"], ["sync", "127.0.0.1", "--port", "9"]):
        assert main(["clock", *verb, "--key", str(key)]) == 3
        assert "--fallback" in capsys.readouterr().err
    assert main(["clock", "sync", "127.0.0.1", "--port", "9", "--key", str(key), "--fallback"]) == 4


def test_words_for_people(key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running("serve", "--port", "0", "--key", str(key)) as server:
        port = str(server.line()["port"])
        out = sync(capsys, "127.0.0.1", "--port", port, "--key", str(key))
        for word in ("offset", "bound", "ppm ±", "round trip", "exchanges", "level       1"):
            assert word in out


def test_the_key_is_looked_for_where_settings_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/settings")
    assert options.key_path() == Path("/settings/aferir/clock.key")


@pytest.mark.integration
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_between_two_hosts_the_one_clock_they_share_is_found(
    key: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from aferir.linux import namespace, undo

    own_state(tmp_path_factory, monkeypatch)
    with namespace.veth_pair() as pair:
        mark = {undo.MARK: pair.mark}
        there = ["ip", "netns", "exec", pair.server]
        here = ["ip", "netns", "exec", pair.client]
        place = ["--address", pair.server_address, "--key", str(key)]
        with running("serve", *place, inside=there, environment=mark) as server:
            assert server.line()["address"] == pair.server_address
            asking = [*here, *AFERIR, "sync", pair.server_address, "--key", str(key), "--json"]
            found = {}
            while "offset_s" not in found:  # as by `sync`
                done = process.run([*asking, "--once"], environment=mark, check=False)
                assert done.exit_code in (0, ClockError.exit_code)
                found = json.loads(done.stdout)
            # Both ends read one system clock, to which the served time was set.
            assert abs(found["offset_s"]) < found["bound_s"] + SET_WITHIN_S
