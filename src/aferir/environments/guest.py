"""Common part of guests with qemu-guest-agent, under QEMU or User-Mode Linux."""

from __future__ import annotations

import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from aferir.environments import agent
from aferir.environments.base import Phases
from aferir.environments.jsonsocket import JsonSocket
from aferir.errors import ProgramError
from aferir.linux import process
from aferir.linux.journal import Entry
from aferir.linux.process import Completed


class GuestWithAgent(ABC):
    """A running guest; `release` may be called twice and always cleans up."""

    def __init__(
        self,
        entry: Entry,
        child: subprocess.Popen[str],
        connection: JsonSocket,
        phases: Phases,
        called: str = "the guest",
    ) -> None:
        """`child` runs the guest, `connection` leads to its agent; `called` names it in errors."""
        self.phases = phases
        self._entry: Entry | None = entry
        self._child = child
        self._agent = connection
        self._called = called

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a program in the guest; its duration is measured on the host, to within 20 ms."""
        self._alive()
        done = agent.run(self._agent, command, timeout_s=timeout_s, environment=environment or {})
        if check and done.exit_code != 0:
            raise ProgramError(f"`{' '.join(done.command)}` {process.explain_exit(done)}")
        return done

    def release(self) -> float:
        """Power the guest off and remove everything; returns the duration in s."""
        clock = time.perf_counter()
        entry, self._entry = self._entry, None
        if entry is not None:
            self._agent.close()
            self._give_back(entry)
        return time.perf_counter() - clock

    @abstractmethod
    def _give_back(self, entry: Entry) -> None:
        """Remove the guest and its journal entry. Errors: OSError if something is left."""

    def _alive(self) -> Entry:
        """Journal entry of the guest. Errors: ProgramError if it does not run."""
        if self._entry is None or self._child.poll() is not None:
            raise ProgramError(f"{self._called} does not run")
        return self._entry
