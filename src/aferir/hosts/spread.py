"""One environment over several hosts: programs start on the first, and reach the others.

On the first host a script of ours stands in for ssh (`enter`): it passes a command to us, and
another host's agent runs it. mpirun starts its daemons by it, network programs their servers, and
co-location its load. So hosts need no login to each other, only the network between them.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import msgspec

from aferir.environments.base import Accounting
from aferir.environments.measured import Asked, Measured
from aferir.errors import AferirError, MissingError
from aferir.hosts import addresses, enter, totals
from aferir.hosts.environment import Host, RemoteEnvironment, RemoteInstance
from aferir.linux import wait
from aferir.linux.process import Completed
from aferir.model.finding import Finding
from aferir.model.host import SPREAD
from aferir.model.plan import EnvironmentSpec
from aferir.model.variables import ADDRESSES, ENTER, HOSTS
from aferir.programs.base import PROGRAM_FOLDER

_RANK = 'exec "${AFERIR_HERE:-$AFERIR_PROGRAMS}/${0##*/}" "$@"'
"""Shell command of a rank: its program is where the host's agent has put it."""
_HERE = "AFERIR_HERE=$AFERIR_PROGRAMS; export AFERIR_HERE; "
"""Where that is, in a variable that MPICH does not replace by that of the first host."""
_NOBODY = "/bin/false"
"""Launch command of daemons on other hosts, which is never used: mpirun starts all daemons itself.
"""
_STEP_S = 60.0
_FAILED = 255


class Spread:
    """Several hosts that act as one."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self._hosts = tuple(hosts)

    def environment(self, kind: str) -> SpreadEnvironment:
        """Return the environment of that kind over all hosts; nothing is allocated yet."""
        return SpreadEnvironment(self._hosts, kind)


class SpreadEnvironment:
    """Environment of one kind that spans several hosts."""

    def __init__(self, hosts: Sequence[Host], kind: str) -> None:
        self.kind = kind
        self._hosts = tuple(hosts)
        self._each = tuple(host.environment(kind) for host in hosts)

    def check(self) -> list[Finding]:
        """Findings of all hosts."""
        return [finding for one in self._each for finding in one.check()]

    def prepare(self, packages: tuple[str, ...] = ()) -> str:
        """Build or find the image on each host; returns the hash of the first."""
        first, *others = self._each
        for other in others:
            other.prepare(packages)
        return first.prepare(packages)

    def allocate(self, spec: EnvironmentSpec) -> SpreadInstance:
        """Make an instance on each host; if one fails, the others are released.

        Errors: as of the kind itself.
        """
        made: list[RemoteInstance] = []
        try:
            made += [one.allocate(spec) for one in self._each]
            return SpreadInstance(spec, self._hosts, made)
        except BaseException:
            for instance in made:
                instance.release()
            raise


class SpreadInstance:
    """Instances on all hosts, and for each other host a second connection to the first one."""

    emulated = False

    def __init__(
        self, spec: EnvironmentSpec, hosts: Sequence[Host], made: Sequence[RemoteInstance]
    ) -> None:
        self.spec = spec
        self.phases = max((one.phases for one in made), key=lambda phases: phases.total_s)
        self.accounting = Accounting(own_kernel=False, elsewhere=self.measure)
        self._each = tuple(made)
        known = [host.identify() for host in hosts]
        self._names = [one.name for one in known]
        self._addresses = addresses.of_each([one.networks for one in known])
        if len(set(self._names)) < len(self._names):
            raise MissingError(
                f"hosts of `{spec.name}` have the same name: {', '.join(self._names)}",
                remedy="name them apart with hostnamectl, for Open MPI knows hosts by their names",
            )
        self._hosts = tuple(hosts)
        self._first = hosts[0]
        self._beside: list[tuple[Host, RemoteInstance]] = []
        try:
            self._listen()
        except BaseException:
            self.release()
            raise

    def _listen(self) -> None:
        """Install the script that replaces ssh, and open the connections that serve it."""
        with tempfile.TemporaryDirectory(prefix="aferir-spread-") as folder:
            path = Path(folder) / enter.PATH.name
            path.write_text(enter.SCRIPT, encoding="utf-8")
            path.chmod(0o755)
            self._each[0].put(path, enter.PATH)
        command = (str(enter.PATH), "--make", *self._names[1:])
        self._folder = self._each[0].run(command, timeout_s=_STEP_S).stdout.strip()
        for _ in self._names[1:]:
            host = Host(self._first.spec)
            try:
                beside = RemoteEnvironment(host, SPREAD).allocate(self.spec)
            except BaseException:
                self._lose(host)
                raise
            self._beside.append((host, beside))

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a command on the first host, by mpirun on all; errors as of one instance."""
        with self._served(timeout_s):
            return self._each[0].run(
                self._over_all(tuple(command)),
                timeout_s=timeout_s,
                environment=self._told(environment or {}),
                check=check,
            )

    def measure(self, asked: Asked) -> Measured:
        """Measure as one instance does; the probes are those of the first host."""
        for other in self._each[1:]:
            other.resume()
        over_all = msgspec.structs.replace(
            asked, line=self._over_all(asked.line), environment=self._told(asked.environment)
        )
        try:
            with totals.metered(self._hosts[1:]) as others, self._served(asked.timeout_s):
                measured = self._each[0].measure(over_all)
        finally:
            for other in self._each[1:]:
                with contextlib.suppress(AferirError):
                    other.pause()
        return totals.of_all(measured, [host.spec for host in self._hosts], others)

    def put(self, source: Path, destination: PurePosixPath) -> None:
        """Copy a file to all hosts."""
        for one in self._each:
            one.put(source, destination)

    def get(self, source: PurePosixPath, destination: Path) -> None:
        """Copy a file of the first host's instance to this host."""
        self._each[0].get(source, destination)

    def pause(self) -> None:
        """Pause the instances on all hosts."""
        for one in self._each:
            one.pause()

    def resume(self) -> None:
        """Undo `pause`."""
        for one in self._each:
            one.resume()

    def release(self) -> float:
        """Release the instances on all hosts; returns the longest duration in s."""
        for host, instance in self._beside:
            instance.release()
            self._lose(host)
        self._beside.clear()
        return max(one.release() for one in self._each)

    def _lose(self, beside: Host) -> None:
        """Drop a second connection to the first host, which is cleaned up when that is closed."""
        beside.lose()
        self._first.in_doubt |= beside.in_doubt

    def _told(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Environment variables that name the other hosts for a program."""
        return {
            **environment,
            HOSTS: " ".join(self._names),
            ADDRESSES: " ".join(self._addresses),
            ENTER: f"{self._folder}/{enter.PATH.name}",
        }

    def _over_all(self, line: tuple[str, ...]) -> tuple[str, ...]:
        """Command of mpirun with its ranks distributed over all hosts; others are unchanged."""
        if not _launches(line):
            return line
        launcher, *words = line
        ranks = int(words[words.index("-n") + 1])
        each = -(-ranks // len(self._names))
        program = next(k for k, word in enumerate(words) if word.startswith(f"{PROGRAM_FOLDER}/"))
        name = PurePosixPath(words[program]).name
        places = ",".join(f"{host}:{each}" for host in self._names)
        return (
            launcher,
            *_placing(launcher, places, self._addresses[0]),
            *words[:program],
            *("sh", "-c", _RANK, name, *words[program + 1 :]),
        )

    @contextmanager
    def _served(self, timeout_s: float | None) -> Iterator[None]:
        """Run the commands that the script `enter` requests on the other hosts, in this block."""
        serving = [
            threading.Thread(target=self._serve, args=(k, timeout_s), daemon=True)
            for k in range(1, len(self._each))
        ]
        for one in serving:
            one.start()
        try:
            yield
        finally:
            deadline_s = wait.after(_STEP_S)
            command = (str(enter.PATH), "--free", *self._names[1:])
            while any(one.is_alive() for one in serving) and wait.left_s(deadline_s):
                with contextlib.suppress(AferirError):  # a command there may still run
                    self._each[0].run(command, timeout_s=_STEP_S)
                for one in serving:
                    one.join(1.0)

    def _serve(self, place: int, timeout_s: float | None) -> None:
        """Run requested commands on one host until there are no more; then end its programs."""
        with contextlib.suppress(AferirError):  # the program says what it lacks
            while self._serve_once(place, timeout_s):
                pass
        with contextlib.suppress(AferirError):
            self._each[place].stop()

    def _serve_once(self, place: int, timeout_s: float | None) -> bool:
        beside, name = self._beside[place - 1][1], self._names[place]
        act, command = enter.read(beside.run(["cat", f"{self._folder}/asked-{name}"]).stdout)
        if not act:
            return False
        code, said, wrong = self._carry_out(self._each[place], act, command, timeout_s)
        for what, text in (("said", said), ("wrong", wrong)):
            if text:
                with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    beside.put(Path(file.name), PurePosixPath(self._folder) / f"{what}-{name}")
        told = f'echo {code} > "$1"'
        with contextlib.suppress(AferirError):  # it was ended, and awaits no answer
            beside.run(["sh", "-c", told, "sh", f"{self._folder}/ended-{name}"], timeout_s=5.0)
        return True

    def _carry_out(
        self, there: RemoteInstance, act: str, command: str, timeout_s: float | None
    ) -> tuple[int, str, str]:
        """Exit code, output and error output of a command on another host.

        As of ssh, the code is 255 where the host itself fails.
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


def _placing(launcher: str, places: str, address: str) -> tuple[str, ...]:
    """Options of an mpirun that place ranks on hosts `NAME:RANKS,...`, reached by our script.

    Hydra, MPICH's launcher, gives the other hosts its name where it has no `address`.
    """
    if PurePosixPath(launcher).name.endswith("mpich"):
        at = ("-localhost", address) if address else ()
        return ("-launcher", "ssh", "-launcher-exec", str(enter.PATH), *at, "-hosts", places)
    agent = ("--mca", "plm_rsh_agent", str(enter.PATH), "--mca", "plm_rsh_no_tree_spawn", "1")
    return (*agent, "--host", places)


def _launches(line: Sequence[str]) -> bool:
    return PurePosixPath(line[0]).name.startswith("mpirun") and "-n" in line
