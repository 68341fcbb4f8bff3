"""Instances on several hosts that reach one another by ssh on a network of their own.

The network is a VXLAN among their hosts (`model.overlay`), on which every instance but the first
runs sshd. Private keys never leave their instance; public keys are exchanged over the controller's
connections. The hosts themselves are not on that network.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager

from aferir.errors import ProgramError
from aferir.hosts import enter, launching
from aferir.hosts.environment import RemoteInstance
from aferir.model.overlay import PACKAGES, Overlay
from aferir.model.variables import ENTER, PROGRAMS
from aferir.programs.base import PROGRAM_FOLDER
from aferir.programs.mpi import YIELDS

_FOLDER = PROGRAM_FOLDER / "ssh"
"""Folder of keys and configuration in each instance."""
_STEP_S = 120.0
"""Time limit in s of a step: to make a key in an emulated guest of a busy host takes seconds."""
_SET_UP = """set -e
mkdir -p "$0"
chmod 700 "$0"
printf '%s' "$1" >> /etc/hosts
ssh-keygen -q -t ed25519 -N '' -C aferir -f "$0/key"
cut -d ' ' -f 1,2 "$0/key.pub"
"""
"""Script that makes a key in the folder `$0`, and adds `$1`, the addresses and names of all
instances, to /etc/hosts.
"""
_SERVE = """set -e
mkdir -p -m 755 /run/sshd
printf '%s\\n' "$1" > "$0/authorized_keys"
cat > "$0/sshd_config" << END
HostKey $0/key
AuthorizedKeysFile $0/authorized_keys
ListenAddress $2
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
UseDNS no
PidFile $0/sshd.pid
MaxStartups 200
KexAlgorithms curve25519-sha256
END
/usr/sbin/sshd -f "$0/sshd_config"
until [ -s "$0/sshd.pid" ]; do sleep 0.01; done
"""
"""Script that starts sshd at address `$2` for the owner of the public key `$1`, until it listens.

The key exchange algorithm is the fastest in an emulated guest: 0.3 s instead of the default's 2 s.
"""
_SSH = f"""Host *
User root
IdentityFile {_FOLDER}/key
UserKnownHostsFile {_FOLDER}/known_hosts
GlobalKnownHostsFile none
StrictHostKeyChecking yes
BatchMode yes
ServerAliveInterval 5
LogLevel ERROR
"""


class Joined:
    """Instances on a network of their own, of which the first reaches all others."""

    def __init__(self, overlay: Overlay, made: Sequence[RemoteInstance]) -> None:
        """Make keys and start sshd in all instances `made`, in the order of the network.

        Errors: ProgramError where a step fails in one of them.
        """
        self.names: Sequence[str] = overlay.names
        self.addresses: Sequence[str] = overlay.addresses
        self._each = tuple(made)
        names = zip(overlay.addresses, overlay.names, strict=True)
        table = "".join(f"{address} {name}\n" for address, name in names)
        first, *others = [self._ran(k, _SET_UP, table) for k in range(len(made))]
        for place, address in enumerate(overlay.addresses[1:], 1):
            self._ran(place, _SERVE, first, address)
        known = zip(overlay.addresses[1:], overlay.names[1:], others, strict=True)
        keys = "".join(f"{one},{name} {key}\n" for one, name, key in known)
        made[0].write(_FOLDER / "known_hosts", keys.encode())
        made[0].write(_FOLDER / "config", _SSH.encode())
        for one in made:  # Open MPI's daemons ask for its script too, and never use it
            one.write(enter.PATH, enter.by_ssh(f"ssh -F {_FOLDER}/config").encode(), 0o755)

    def variables(self) -> dict[str, str]:
        """Environment variables by which a program reaches the other instances."""
        as_root = dict.fromkeys(
            ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1"
        )  # which we are there, whoever we are here
        return {ENTER: str(enter.PATH), PROGRAMS: str(PROGRAM_FOLDER), **as_root}

    def over_all(self, line: tuple[str, ...]) -> tuple[str, ...]:
        """Change a command of mpirun to place ranks in all instances; return others unchanged."""
        return launching.over_all(line, self.names, self.addresses[0], _started)

    def served(self, timeout_s: float | None) -> AbstractContextManager[None]:
        """Do nothing: the instances reach one another by ssh, without the controller."""
        return contextlib.nullcontext()

    def release(self) -> None:
        """Do nothing: keys and sshd end with their instances."""

    def _ran(self, place: int, script: str, *words: str) -> str:
        """Output of a script in one instance, without the end of its last line."""
        command = ("sh", "-c", script, str(_FOLDER), *words)
        done = self._each[place].run(command, timeout_s=_STEP_S, check=False)
        if done.exit_code:
            said = (done.stderr.strip().splitlines() or [f"exit code {done.exit_code}"])[-1]
            raise ProgramError(
                f"the instance on {self.names[place]} cannot be joined: {said}",
                remedy=f"an image of yours needs {', '.join(PACKAGES)} and the MPI in it",
            )
        return done.stdout.strip()


def _started(path: str) -> tuple[str, ...]:
    return ("sh", "-c", f'{YIELDS}exec "$0" "$@"', path)
