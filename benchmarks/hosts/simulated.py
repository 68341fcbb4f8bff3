"""Simulate a thousand agents in one process: each answers like a real one, and runs nothing."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import selectors
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import cast

import msgspec

from aferir import machine
from aferir.hosts import bootstrap
from aferir.hosts.bundle import MACHINE, PYTHON
from aferir.hosts.messages import Alive, Answer, AnyRequest, Describe, Host
from aferir.model.host import HostSpec

_TOKEN = re.compile(rb"(?:%s|%s) ([0-9a-f]{16})" % (b"aferir-shell", b"aferir-python"))
_PIECE = 2**18


class _Served:
    """One agent: the bytes that it has received, and the step that it has reached."""

    def __init__(self, line: socket.socket, described: bytes) -> None:
        self._line = line
        self._described = described
        self._kept = bytearray()
        self._step = 0
        self._token = ""

    def take(self, content: bytes) -> None:
        self._kept += content
        while self._advance():
            pass

    def _advance(self) -> bool:
        if self._step == 3:
            return self._message()
        kept = bytes(self._kept)
        if self._step == 2:
            length, newline, rest = kept.partition(b"\n")
            if not newline or len(rest) < int(length):
                return False
            self._say(bootstrap.PYTHON, "have /simulated")
            self._say(bootstrap.AGENT, "ready")
        elif self._step == 1:
            if not kept.endswith(b"aferir.hosts.agent\n"):
                return False
            self._say(bootstrap.PYTHON, "started")
        else:
            found = _TOKEN.search(kept)
            named = re.search(rb"%s ([0-9a-f]{16})" % bootstrap.SHELL.encode(), kept)
            if found is None or named is None:
                return False
            self._token = named[1].decode()
            self._say(bootstrap.SHELL, f"{MACHINE} /usr/bin/python3 {PYTHON}")
        self._kept.clear()
        self._step += 1
        return True

    def _message(self) -> bool:
        size = int.from_bytes(self._kept[:4], "big") if len(self._kept) >= 4 else 2**31
        if len(self._kept) < 4 + size:
            return False
        request = msgspec.msgpack.decode(bytes(self._kept[4 : 4 + size]), type=AnyRequest)
        del self._kept[: 4 + size]
        if isinstance(request, Alive):
            answer = Answer(echo=request.sent_ns, unix_ns=request.sent_ns)
        elif isinstance(request, Describe):
            answer = Answer(value=msgspec.Raw(self._described))
        else:
            answer = Answer()
        self._send(answer)
        return True

    def end(self) -> None:
        """Tell that everything has been released."""
        self._send(Answer(ended=True))

    def _send(self, answer: Answer) -> None:
        content = msgspec.msgpack.encode(answer)
        self._line.sendall(len(content).to_bytes(4, "big") + content)

    def _say(self, mark: str, words: str) -> None:
        self._line.sendall(f"\n{mark} {self._token} {words}\n".encode())


def _serve(path: str, described: bytes) -> None:
    chosen = selectors.DefaultSelector()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{path}.new")
        door.listen(2000)
        Path(f"{path}.new").rename(path)  # so that who sees it may connect
        chosen.register(door, selectors.EVENT_READ, None)
        while True:
            for key, _ in chosen.select():
                if key.data is None:
                    line, _ = door.accept()
                    chosen.register(line, selectors.EVENT_READ, _Served(line, described))
                    continue
                line = cast("socket.socket", key.fileobj)
                with contextlib.suppress(OSError):
                    if content := line.recv(_PIECE):
                        key.data.take(content)
                        continue
                    key.data.end()
                chosen.unregister(line)
                line.close()


class _Sink:
    """Stand-in for an agent's standard input, which reaches its end once it is closed."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self.fileno = line.fileno

    def close(self) -> None:
        """Close this direction of the line."""
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_WR)


class Connected:
    """Stand in for the child process of a line."""

    def __init__(self, path: Path) -> None:
        self._line = socket.socket(socket.AF_UNIX)
        self._line.connect(str(path))
        self.stdin = _Sink(self._line)
        self.stdout = self._line.makefile("rb", buffering=0)
        self.stderr = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115

    def wait(self, _: float) -> int:
        """Close the line."""
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()
        return 0


@contextmanager
def agents() -> Iterator[Callable[[HostSpec], subprocess.Popen[str]]]:
    """Start the simulated agents; yield a function that opens a line to another one of them."""
    described = Host(
        limits=machine.host_limits(), facts=machine.describe(), findings=tuple(machine.findings())
    )
    content = msgspec.msgpack.encode(described)
    with tempfile.TemporaryDirectory(prefix="aferir-agents-") as folder:
        path = Path(folder) / "door"
        server: BaseProcess = multiprocessing.get_context("fork").Process(
            target=_serve, args=(str(path), content), daemon=True
        )
        server.start()
        try:
            while not path.exists():
                server.join(0.01)
            yield lambda _: cast("subprocess.Popen[str]", Connected(path))
        finally:
            server.kill()
            server.join()
