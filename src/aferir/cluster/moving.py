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
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Self

import msgspec

from aferir.cluster import packaging, storing
from aferir.cluster.balancing import Room, better, processors_of
from aferir.errors import AferirError, MissingError, ProgramError
from aferir.image.progress import Progress, silent
from aferir.linux import affinity, process, ssh
from aferir.model.host import HostSpec

_LAST_LINES = 50
_ENDING_S = 3.0
"""Time in s for the shell to end, and for its last output to be read."""
_REMEDY = "the cluster goes on here; put right what it says, and move it again"


def with_most_room(
    name: str, hosts: Sequence[HostSpec], progress: Progress = silent
) -> HostSpec | None:
    """The host with most room that could make the cluster; None: none such has more than here.

    Errors: UsageError if there is no such cluster, MissingError if no host can be used, or a
    program is missing here.
    """
    descriptor = packaging.descriptor(name)
    cluster = processors_of(storing.read(name).description)
    clusters = [state for one in storing.names() if (state := storing.find(one))]
    asked = sum(processors_of(state.description) for state in clusters)
    here = Room(len(affinity.host_cpus()), asked)
    progress(f"here: {here}")
    with ExitStack() as stack:
        able: list[tuple[HostSpec, Destination, Room]] = []
        for host in hosts:
            try:
                there = stack.enter_context(reached(host))
                there.check()
                able.append((host, there, there.room(host.cpus)))
            except AferirError as error:
                progress(error.message)
            else:
                progress(f"{host.name}: {able[-1][-1]}")
        if not able:
            raise MissingError("no host of the file can be used", remedy="aferir hosts check FILE")
        for place in better(here, cluster, [room for _, _, room in able]):
            host, there, _ = able[place]
            try:
                there.ask(descriptor)
            except AferirError as error:
                progress(error.message)
            else:
                return host
    return None


def reached(host: HostSpec) -> Destination:
    """A shell on a host of a file. Errors: MissingError."""
    shell = ("sudo", "-n", "sh") if host.sudo else ("sh",)
    return Destination(host.name, [*ssh.unattended(host.reach), *shell])


class _Cluster(msgspec.Struct, frozen=True):
    """What `aferir cluster list --json` says of one that matters here."""

    cpus: int
    nodes: list[msgspec.Raw]


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

    def room(self, most: int | None = None) -> Room:
        """How far clusters ask for the host's processors, of which `most` may be used.

        Errors: ProgramError.
        """
        self._tell(f"printf '%s %s %s\\n' {self._token} $(nproc) \"$(aferir cluster list --json)\"")
        processors, _, clusters = (self._answer() or "").partition(" ")
        try:
            there = msgspec.json.decode(clusters, type=list[_Cluster])
            asked = sum(one.cpus * len(one.nodes) for one in there)
            return Room(min(int(processors), most or int(processors)), asked)
        except ValueError:  # as msgspec.DecodeError is, too
            raise ProgramError(
                f"host {self._host} does not say what clusters it has{self._because()}",
                remedy="see what `aferir cluster list --json` prints there",
            ) from None

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
        """What follows our token in the next line with it; None if the shell ends before that."""
        assert self._child.stdout is not None
        for line in self._child.stdout:
            token, _, code = line.strip().partition(" ")
            if token == self._token:
                return code
        self._hearing.join(_ENDING_S)
        return None

    def _failed(self) -> ProgramError:
        return ProgramError(
            f"{self._host} did not make the cluster{self._because()}", remedy=_REMEDY
        )

    def _because(self) -> str:
        said = self._last()
        return f": {said}" if said else ""

    def _last(self) -> str:
        """Last two lines of the host's error output: the message of its aferir, and the remedy."""
        return "; ".join([line.strip() for line in self._said if line.strip()][-2:])

    def _hear(self) -> None:
        assert self._child.stderr is not None
        with contextlib.suppress(OSError, ValueError):
            for line in self._child.stderr:
                self._said = [*self._said[-_LAST_LINES:], line.rstrip("\n")]
