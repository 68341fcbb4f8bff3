"""Hosts whose programs run commands on each other through the controller's connections.

On the first host a script replaces ssh (`enter`): it passes a command to the controller, which has
another host's agent run it. By it mpirun starts its daemons, a network program its servers, and
co-location its load. So hosts need no login to each other, only the network between them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath

from aferir.errors import AferirError
from aferir.hosts import enter, launching
from aferir.hosts.environment import Host, RemoteEnvironment, RemoteInstance
from aferir.linux import wait
from aferir.model.host import ON_HOST
from aferir.model.variables import ENTER
from aferir.programs.mpi import RANK

_HERE = "AFERIR_HERE=$AFERIR_PROGRAMS; export AFERIR_HERE; "
"""Shell command that copies the folder's path to a variable of another name, since MPICH replaces
the original variable by its value on the first host.
"""
_NOBODY = "/bin/false"
"""Launch command for daemons on other hosts; never used, since mpirun starts all daemons itself."""
_STEP_S = 60.0
_FAILED = 255


class Relayed:
    """Instances on all hosts, and one more connection to the first host for each of the others."""

    def __init__(
        self,
        first: Host,
        made: Sequence[RemoteInstance],
        names: Sequence[str],
        addresses: Sequence[str],
    ) -> None:
        """Open the further connections; `names` and `addresses` of the hosts begin with the first.

        Errors: those of allocating a native environment on the first host.
        """
        self._first = first
        self._each = tuple(made)
        self.names: Sequence[str] = tuple(names)
        self.addresses: Sequence[str] = tuple(addresses)
        self._beside: list[tuple[Host, RemoteInstance]] = []
        try:
            self._listen()
        except BaseException:
            self.release()
            raise

    def _listen(self) -> None:
        """Install the script that replaces ssh, and open the connections that serve it."""
        self._each[0].write(enter.PATH, enter.SCRIPT.encode(), 0o755)
        command = (str(enter.PATH), "--make", *self.names[1:])
        self._folder = self._each[0].run(command, timeout_s=_STEP_S).stdout.strip()
        for _ in self.names[1:]:
            host = Host(self._first.spec)
            try:
                beside = RemoteEnvironment(host, ON_HOST).allocate(self._each[0].spec)
            except BaseException:
                self._lose(host)
                raise
            self._beside.append((host, beside))

    def release(self) -> None:
        """Close the further connections to the first host."""
        for host, instance in self._beside:
            instance.release()
            self._lose(host)
        self._beside.clear()

    def _lose(self, beside: Host) -> None:
        """Drop a further connection; what it may leave is removed when the first host is closed."""
        beside.lose()
        self._first.in_doubt |= beside.in_doubt

    def variables(self) -> dict[str, str]:
        """Environment variables by which a program reaches the other hosts."""
        return {ENTER: f"{self._folder}/{enter.PATH.name}"}

    def over_all(self, line: tuple[str, ...]) -> tuple[str, ...]:
        """Change a command of mpirun to place ranks on all hosts; return others unchanged."""
        return launching.over_all(line, self.names, self.addresses[0], _started)

    @contextmanager
    def served(self, timeout_s: float | None) -> Iterator[None]:
        """Run the commands that the script `enter` requests on the other hosts, in this block.

        A command that still runs `_STEP_S` after the block is ended with its agent: the next
        request to that host fails, for its answer would be mixed with that of the command.
        """
        serving = {
            k: threading.Thread(target=self._serve, args=(k, timeout_s), daemon=True)
            for k in range(1, len(self._each))
        }
        for one in serving.values():
            one.start()
        try:
            yield
        finally:
            deadline_s = wait.after(_STEP_S)
            command = (str(enter.PATH), "--free", *self.names[1:])
            while any(one.is_alive() for one in serving.values()) and wait.left_s(deadline_s):
                with contextlib.suppress(AferirError):  # a command there may still run
                    self._each[0].run(command, timeout_s=_STEP_S)
                for one in serving.values():
                    one.join(1.0)
            for place, one in serving.items():
                if one.is_alive():
                    self._each[place].hang_up()
                    self._beside[place - 1][1].hang_up()
                    one.join()
                    self._tell(self._each[0], self.names[place], _FAILED)

    def _serve(self, place: int, timeout_s: float | None) -> None:
        """Run the commands that one host requests, until it ends; then end their programs."""
        with contextlib.suppress(AferirError):  # the program says what it lacks
            while self._serve_once(place, timeout_s):
                pass
        with contextlib.suppress(AferirError):
            self._each[place].stop()

    def _serve_once(self, place: int, timeout_s: float | None) -> bool:
        beside, name = self._beside[place - 1][1], self.names[place]
        act, command = enter.read(beside.run(["cat", f"{self._folder}/asked-{name}"]).stdout)
        if not act:
            return False
        code, said, wrong = self._carry_out(self._each[place], act, command, timeout_s)
        for what, text in (("said", said), ("wrong", wrong)):
            if text:
                beside.write(PurePosixPath(self._folder) / f"{what}-{name}", text.encode())
        self._tell(beside, name, code)
        return True

    def _tell(self, first: RemoteInstance, name: str, code: int) -> None:
        """End the script that waits on the first host for a command on another one, if it does."""
        told = ("sh", "-c", enter.TELL, "sh", str(code), f"{self._folder}/ended-{name}")
        with contextlib.suppress(AferirError):
            first.run(told, timeout_s=_STEP_S)

    def _carry_out(
        self, there: RemoteInstance, act: str, command: str, timeout_s: float | None
    ) -> tuple[int, str, str]:
        """Exit code, output and error output of a command on another host.

        As with ssh, the code is 255 if the host itself fails.
        """
        command = command.replace(f"{self._folder}/{enter.PATH.name}", _NOBODY)
        command = command.replace("orted --daemonize", "orted")  # it ends with its agent
        how = "exec " if act == "start" else ""  # so that nothing but the program is to be ended
        line = ("sh", "-c", f'{_HERE}eval "{how}$1"', "sh", command)
        try:
            if act == "stop":
                there.stop()
            elif act == "start":
                there.start(line)
            else:
                done = there.run(line, timeout_s=timeout_s, check=False)
                return done.exit_code, done.stdout, done.stderr
        except AferirError as error:
            return _FAILED, "", error.message
        return 0, "", ""


def _started(program: str) -> tuple[str, ...]:
    return ("sh", "-c", RANK, PurePosixPath(program).name)
