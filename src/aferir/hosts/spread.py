"""One environment over several hosts: MPI ranks on all, other programs on the first.

mpirun runs on the first host. Instead of ssh it calls a script of ours to start a daemon on another
host; the script passes the daemon's command to us, and that host's agent runs it. So hosts need no
login to each other, only the network over which ranks communicate.
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
from aferir.hosts.environment import Host, RemoteEnvironment, RemoteInstance
from aferir.linux.process import Completed
from aferir.model.finding import Finding
from aferir.model.host import SPREAD
from aferir.model.plan import EnvironmentSpec
from aferir.programs.base import PROGRAM_FOLDER

_ENTER = PROGRAM_FOLDER / "enter"
_SCRIPT = """#!/bin/sh
# enter HOST COMMAND: as ssh does, by whoever reads `asked-HOST`
folder=${0%/*}
case $1 in
--make) shift; for host; do mkfifo "$folder/asked-$host" "$folder/ended-$host"; done
  echo "$folder"; exit ;;
--free) shift; for host; do timeout 5 sh -c ': > "$1"' sh "$folder/asked-$host"; done; exit 0 ;;
esac
host=$1; shift
printf '%s\\n' "$*" > "$folder/asked-$host"
read -r code < "$folder/ended-$host"
exit "${code:-1}"
"""
_THERE = 'export AFERIR_PROGRAMS="${1%/*}"; shift; '
_RANK = 'exec "$AFERIR_PROGRAMS/${0##*/}" "$@"'
"""Shell command of a rank: its program is where the host's agent has put it."""
_NOBODY = "/bin/false"
"""Launch command of daemons on other hosts, which is never used: mpirun starts all daemons itself.
"""
_STEP_S = 60.0


class Spread:
    """Several hosts that act as one."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self._hosts = tuple(hosts)

    def environment(self, kind: str) -> SpreadEnvironment:
        """Return the environment of that kind over all hosts; nothing is allocated yet."""
        return SpreadEnvironment(self._hosts, kind)


class SpreadEnvironment:
    """One kind of environment on all hosts."""

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
        self._names = [_name_of(host) for host in hosts]
        if len(set(self._names)) < len(self._names):
            raise MissingError(
                f"hosts of `{spec.name}` have the same name: {', '.join(self._names)}",
                remedy="name them apart with hostnamectl, for Open MPI knows hosts by their names",
            )
        self._beside: list[tuple[Host, RemoteInstance]] = []
        try:
            self._listen(hosts[0])
        except BaseException:
            self.release()
            raise

    def _listen(self, first: Host) -> None:
        """Install the script that replaces ssh, and open the connections that serve it."""
        with tempfile.TemporaryDirectory(prefix="aferir-spread-") as folder:
            path = Path(folder) / "enter"
            path.write_text(_SCRIPT, encoding="utf-8")
            path.chmod(0o755)
            self._each[0].put(path, _ENTER)
        command = (str(_ENTER), "--make", *self._names[1:])
        self._folder = self._each[0].run(command, timeout_s=_STEP_S).stdout.strip()
        for _ in self._names[1:]:
            host = Host(first.spec)
            self._beside.append((host, RemoteEnvironment(host, SPREAD).allocate(self.spec)))

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a command on the first host, or by mpirun on all; errors as of one instance."""
        line = tuple(command)
        if not _launches(line):
            return self._each[0].run(
                line, timeout_s=timeout_s, environment=environment, check=check
            )
        with self._served(timeout_s):
            return self._each[0].run(
                self._over_all(line), timeout_s=timeout_s, environment=environment, check=check
            )

    def measure(self, asked: Asked) -> Measured:
        """Measure as one instance does; the probes are those of the first host."""
        for other in self._each[1:]:
            other.resume()
        try:
            if not _launches(asked.line):
                return self._each[0].measure(asked)
            over_all = msgspec.structs.replace(asked, line=self._over_all(asked.line))
            with self._served(asked.timeout_s):
                return self._each[0].measure(over_all)
        finally:
            for other in self._each[1:]:
                with contextlib.suppress(AferirError):
                    other.pause()

    def put(self, source: Path, destination: PurePosixPath) -> None:
        """Copy a file to all hosts."""
        for one in self._each:
            one.put(source, destination)

    def get(self, source: PurePosixPath, destination: Path) -> None:
        """Copy a file of the first host's instance to this host."""
        self._each[0].get(source, destination)

    def pause(self) -> None:
        """Stop all of them from using any CPU."""
        for one in self._each:
            one.pause()

    def resume(self) -> None:
        """Undo `pause`."""
        for one in self._each:
            one.resume()

    def release(self) -> float:
        """Release all of them; returns the longest duration in s."""
        for host, instance in self._beside:
            instance.release()
            host.lose()
        self._beside.clear()
        return max(one.release() for one in self._each)

    def _over_all(self, line: tuple[str, ...]) -> tuple[str, ...]:
        """Command of mpirun with its ranks distributed over all hosts."""
        launcher, *words = line
        ranks = int(words[words.index("-n") + 1])
        each = -(-ranks // len(self._names))
        program = next(k for k, word in enumerate(words) if word.startswith(f"{PROGRAM_FOLDER}/"))
        name = PurePosixPath(words[program]).name
        return (
            *("sh", "-c", _THERE + 'exec "$@"', "sh", str(_ENTER), launcher),
            *("--mca", "plm_rsh_agent", str(_ENTER), "--mca", "plm_rsh_no_tree_spawn", "1"),
            *("--host", ",".join(f"{host}:{each}" for host in self._names)),
            *words[:program],
            *("sh", "-c", _RANK, name, *words[program + 1 :]),
        )

    @contextmanager
    def _served(self, timeout_s: float | None) -> Iterator[None]:
        """Start daemons on the other hosts as mpirun requests them, within the block."""
        serving = [
            threading.Thread(target=self._serve, args=(k, timeout_s), daemon=True)
            for k in range(1, len(self._each))
        ]
        for one in serving:
            one.start()
        try:
            yield
        finally:
            for one in serving:
                one.join(0.5)
            if any(one.is_alive() for one in serving):  # nobody has asked
                with contextlib.suppress(AferirError):
                    command = (str(_ENTER), "--free", *self._names[1:])
                    self._each[0].run(command, timeout_s=_STEP_S)
            for one in serving:
                one.join(_STEP_S)

    def _serve(self, place: int, timeout_s: float | None) -> None:
        beside = self._beside[place - 1][1]
        name = self._names[place]
        code = 1
        try:
            asked = beside.run(["cat", f"{self._folder}/asked-{name}"]).stdout.strip()
            if not asked:
                return
            asked = asked.replace(f"{self._folder}/{_ENTER.name}", _NOBODY)
            asked = asked.replace("orted --daemonize", "orted")  # it ends with its agent
            command = ("sh", "-c", _THERE + 'eval "$1"', "sh", str(_ENTER), asked)
            code = self._each[place].run(command, timeout_s=timeout_s, check=False).exit_code
            told = f'echo {code} > "$1"'
            beside.run(["sh", "-c", told, "sh", f"{self._folder}/ended-{name}"], timeout_s=5.0)
        except AferirError:
            return  # mpirun says what it lacks


def _launches(line: Sequence[str]) -> bool:
    return PurePosixPath(line[0]).name.startswith("mpirun") and "-n" in line


def _name_of(host: Host) -> str:
    facts = host.describe().facts.get("machine")
    return str(facts.get("host_name", "")) if isinstance(facts, dict) else ""
