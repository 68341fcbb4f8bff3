"""Connects to a host: starts the command that reaches it, and turns its shell into an agent."""

from __future__ import annotations

import contextlib
import secrets
import shlex
import subprocess

from aferir.errors import AferirError, MissingError
from aferir.hosts import advice, bootstrap, bundle, frames, login
from aferir.hosts.hearing import Hearing
from aferir.hosts.messages import READY, REMEDY
from aferir.linux import process, ssh, wait
from aferir.model.host import HostSpec

STEP_S = 8.5
"""Silence in s of a host that is being connected after which a reason is looked for: ssh gives up
connecting after 8 s, and a host that its login refuses is refused within 10 s.
"""
_PATIENCE_S = 60.0
"""Longest silence in s of such a host without a reason: it is busy, its batch system has still to
start the shell, or its connection, which other sessions of ssh share, was cut and is sent over
again only after a pause that TCP doubles each time (RFC 6298, 5.5: 12.6 s after a cut of 7 s).
"""
_LOGIN_S = 0.8
"""Least time in s to find out why a login starts no shell, however long it took to fail."""
_OWN_ERROR = 255
"""Exit code of ssh(1) where it fails itself; others are those of what it started there."""
_SLOW = "is it up, and does a login there take less than that?"
_PYTHONS = {
    bootstrap.NO_PYTHON: "there is no Python",
    bootstrap.BROKEN: "its python3 does not start",
}


def start(host: HostSpec) -> subprocess.Popen[str]:
    """Start the command that reaches the host. Errors: MissingError if it does not exist here."""
    try:
        return process.start(
            [*ssh.unattended(host.reach), *_shell(host)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            survives_us=True,  # for a moment: it ends with its standard input
        )
    except MissingError as error:
        said = f"host {host.name} cannot be used: {error.message}"
        raise MissingError(said, remedy="see the host's `reach`") from None


def _shell(host: HostSpec) -> tuple[str, ...]:
    return ("sudo", "-n", "sh") if host.sudo else ("sh",)


class Opening:
    """The steps from a shell to an agent: see `bootstrap`."""

    def __init__(
        self,
        host: HostSpec,
        child: subprocess.Popen[str],
        reader: frames.Reader,
        hearing: Hearing,
    ) -> None:
        assert child.stdin is not None
        self._host = host
        self._child = child
        self._sink = child.stdin.fileno()
        self._reader = reader
        self._hearing = hearing
        self._token = secrets.token_hex(8)
        self._printed = ""
        self._entered = False
        self._refused_s = wait.after(STEP_S)
        self._bound: str | None = None

    def carry_out(self) -> None:
        """Return once the agent reads messages. Errors: MissingError with reason and remedy."""
        self._send(bootstrap.shell_script(self._token))
        self._check(*self._await(bootstrap.SHELL, 3))
        self._entered = True
        self._send(bootstrap.start_script(self._token))
        self._await(bootstrap.PYTHON, 1)
        self._send(bootstrap.unpack_script(self._token, bundle.digest()))
        state, where = self._await(bootstrap.PYTHON, 2)
        if state == "need":
            self._send(bootstrap.archive_bytes(bundle.archive()))
            state, where = self._await(bootstrap.PYTHON, 2)
        if state not in ("have", "unpacked"):
            raise self._refused(
                f"the agent cannot be put there: {where}", "see its disk and mounts"
            )
        (said,) = self._await(bootstrap.AGENT, 1)
        if said != READY:
            why, _, remedy = said.partition(REMEDY)
            raise self._refused(f"the agent does not start there: {why}", remedy or "see its disk")

    def _check(self, machine: str, python: str, other: str) -> None:
        """Raise MissingError if the agent cannot run on what the shell found."""
        if machine != bundle.MACHINE:
            raise self._refused(
                f"its processor is {machine}, and the programs here are for {bundle.MACHINE}",
                "install aferir on a machine like it, and start the experiment there",
            )
        if python == bootstrap.TERMINAL:
            raise self._refused(
                "its input is a terminal, which alters what is sent",
                "leave options such as -t and -it out of `reach`",
            )
        if python == "-":
            raise self._refused(
                f"{_PYTHONS.get(other, f'its Python is {other}')}, and the agent needs "
                f"{bundle.PYTHON} as here, or msgspec beside a newer one",
                f"install python{bundle.PYTHON} there, or Python's msgspec for one from 3.11 on",
            )

    def _send(self, content: bytes) -> None:
        """Send the input of one step; if the host has ended, its last output will tell why."""
        with contextlib.suppress(OSError):
            try:
                frames.send(self._sink, content, _PATIENCE_S)
            except frames.Silence as silence:
                raise self._silent(str(silence)) from None

    def _await(self, mark: str, words: int) -> list[str]:
        """Wait for a line with `mark` and our token; returns its other words, skips other lines.

        Errors: MissingError if the host has ended, if it is silent and its login tells why, or if
        it is silent for too long.
        """
        self._refused_s, given_up_s = wait.after(STEP_S), wait.after(_PATIENCE_S)
        found = self._marked(mark, words, self._refused_s)
        if found is not None:
            return found
        if self._binding():
            raise self._silent(f"it does not answer within {STEP_S:g} s")
        found = self._marked(mark, words, given_up_s)
        if found is not None:
            return found
        raise self._silent(f"it does not answer within {_PATIENCE_S:g} s")

    def _marked(self, mark: str, words: int, deadline_s: float) -> list[str] | None:
        """Words of the line with `mark` and our token; None if it has not come by the deadline."""
        with contextlib.suppress(frames.Silence):
            while (line := self._reader.line(wait.left_s(deadline_s))) is not None:
                text = line.decode("utf-8", "replace").strip()
                told = text.split(" ", words + 1)
                if told[:2] == [mark, self._token]:
                    return (told[2:] + [""] * words)[:words]
                self._printed = text or self._printed
                if text and not wait.left_s(deadline_s):  # it may print without end
                    break
            else:
                raise self._silent("it ends at once", ends=True)
        return None

    def _refused(self, why: str, remedy: str) -> AferirError:
        return MissingError(f"host {self._host.name} cannot be used: {why}", remedy=remedy)

    def _silent(self, why: str, *, ends: bool = False) -> AferirError:
        """Error about a host that does not answer, with the last lines that came from it."""
        lines = self._hearing.last_lines(ends=ends)
        last = next((line for line in reversed(lines) if line.strip()), "")
        said = "; ".join(advice.quoted(one) for one in (last, self._printed) if one)
        remedy = (
            advice.remedy_for("\n".join((*lines, self._printed)))
            or self._binding()
            or self._way()
            or f"try by hand: {shlex.join((*self._host.reach, *_shell(self._host)))}"
        )
        return self._refused(f"{why} ({said})" if said else why, remedy)

    def _binding(self) -> str:
        """Remedy for a key that sshd binds to a command; empty if it does not, as far as known."""
        if self._entered or self._child.poll() == _OWN_ERROR or not ssh.is_ssh(self._host.reach):
            return ""
        if self._bound is None:
            within_s = max(_LOGIN_S, wait.left_s(self._refused_s))
            self._bound = login.bound(self._host.reach, within_s)
        return self._bound

    def _way(self) -> str:
        """Remedy for how the host is reached: it hangs, or ends; empty if ssh itself failed."""
        code = self._child.poll()
        if code is None:
            return login.shared(self._host.reach, self._child.pid) or _SLOW
        if self._entered or code == _OWN_ERROR or not ssh.is_ssh(self._host.reach):
            return ""
        return login.REFUSING
