"""Moves a cluster: sends its package to another host, whose aferir creates the cluster from it."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import shutil
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Self

from aferir.errors import MissingError, ProgramError
from aferir.linux import process

_LAST_LINES = 50
_ENDING_S = 3.0
"""Time in s for the shell to end, and for its last output to be read."""
_REMEDY = "the cluster goes on here; put right what it says, and move it again"


class Destination:
    """A shell on another host that receives one package; it ends with the context."""

    def __init__(self, host: str, shell: Sequence[str]) -> None:
        """Start `shell`, a command that opens a shell on the host. Errors: MissingError."""
        self._host = host
        self._token = secrets.token_hex(8)
        self._said: list[str] = []
        self._child: subprocess.Popen[str] = process.start(
            shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._hearing = threading.Thread(target=self._hear, daemon=True)
        self._hearing.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the connection; the other host removes a file that it received only in part."""
        assert self._child.stdin is not None
        with contextlib.suppress(OSError):
            self._child.stdin.close()  # at which the shell ends by itself
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(_ENDING_S)
        process.end(self._child)
        self._hearing.join(_ENDING_S)
        for stream in (self._child.stdout, self._child.stderr):
            if stream is not None:
                stream.close()

    def check(self) -> None:
        """Raise MissingError unless the host answers and has an aferir of its own.

        A temporary copy would not do, as aferir watches the cluster after this command has ended.
        """
        self._tell(f"command -v aferir >/dev/null; echo {self._token} $?")
        answer = self._answer()
        if answer is None:
            raise MissingError(
                f"host {self._host} cannot be used: {self._last() or 'it ends at once'}",
                remedy="aferir hosts check FILE",
            )
        if answer != "0":
            raise MissingError(
                f"host {self._host} has no aferir to keep the cluster",
                remedy="install it there, so that its shell finds `aferir`",
            )

    def ask(self, descriptor: str) -> None:
        """Raise ProgramError if the host could not load a package with this descriptor."""
        content = descriptor.encode()
        self._load("c.ovf", len(content), "--check", io.BytesIO(content))

    def load(self, package: Path) -> None:
        """Copy the package and create the cluster there. Errors: ProgramError; nothing is left."""
        with package.open("rb") as file:
            self._load("c.ova", package.stat().st_size, "", file)

    def _load(self, name: str, size: int, option: str, file: IO[bytes]) -> None:
        """Send `file` of `size` bytes and have the host's aferir load it."""
        # The shell has read its line before it gets the bytes, of which it would read some itself.
        self._tell(
            "umask 077; f=$(mktemp -d /var/tmp/aferir-move-XXXXXX) &&"
            f' echo {self._token} 0 && head -c {size} > "$f/{name}" &&'
            f' aferir cluster load {option} "$f/{name}" >&2; code=$?; rm -rf "$f";'
            f" echo {self._token} $code"
        )
        if self._answer() != "0":
            raise self._failed()
        assert self._child.stdin is not None
        try:
            with os.fdopen(os.dup(self._child.stdin.fileno()), "wb") as target:
                shutil.copyfileobj(file, target)
        except OSError:
            raise self._failed() from None
        if self._answer() != "0":
            raise self._failed()

    def _tell(self, line: str) -> None:
        assert self._child.stdin is not None
        with contextlib.suppress(OSError):  # its answer is missed instead
            self._child.stdin.write(f"{line}\n")
            self._child.stdin.flush()

    def _answer(self) -> str | None:
        """Exit code from the next line with our token; None if the shell ends before that."""
        assert self._child.stdout is not None
        for line in self._child.stdout:
            token, _, code = line.strip().partition(" ")
            if token == self._token:
                return code
        self._hearing.join(_ENDING_S)
        return None

    def _failed(self) -> ProgramError:
        said = self._last()
        return ProgramError(
            f"{self._host} did not make the cluster{f': {said}' if said else ''}", remedy=_REMEDY
        )

    def _last(self) -> str:
        """Last two lines of the host's error output: the message of its aferir, and the remedy."""
        return "; ".join([line.strip() for line in self._said if line.strip()][-2:])

    def _hear(self) -> None:
        assert self._child.stderr is not None
        with contextlib.suppress(OSError, ValueError):
            for line in self._child.stderr:
                self._said = [*self._said[-_LAST_LINES:], line.rstrip("\n")]
