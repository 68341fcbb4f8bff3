"""Runs both ends of a network program, server and client, in one command."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from aferir.errors import MissingError
from aferir.model.finding import Finding
from aferir.programs.base import Command

LOOPBACK = "127.0.0.1"

# As neither program reports when it listens, the client is tried until the server answers: as long
# as it is refused and the server runs, however slow a busy machine is to start that; twenty times
# where it fails for another reason. iperf3 exits with 0 even if its connection was refused, and
# reports that only in its result; NPtcp prints the number of the error. The server is killed and
# waited for in any case, so that its port is free again.
_SCRIPT = """
server=$1 client=$2
$server >/dev/null 2>&1 &
pid=$!
trap 'kill $pid 2>/dev/null; wait $pid' EXIT
tries=20
while [ $tries -gt 0 ]; do
  said=$($client)
  code=$?
  case $code$said in
    *refused* | *errno=111*) ;;
    0*) break ;;
    *) tries=$((tries - 1)) ;;
  esac
  kill -0 $pid 2>/dev/null || break
  sleep 0.1
done
printf '%s\\n' "$said"
exit $code
"""

# The server runs on the second host, the client on the first; @ is the server's address, which the
# client reaches. Whether the server still runs is not seen here: a client that is refused is tried
# for a minute.
_TWO_HOSTS = """
server=$1 client=$2
set -- $AFERIR_HOSTS
other=$2
set -- $AFERIR_ADDRESSES
if [ -z "$2" ]; then echo "$other has no address: see ip(8) there" >&2; exit 1; fi
with() { printf '%s' "$1" | sed "s|@|$2|g"; }
client=$(with "$client" "$2") server=$(with "$server" "$2")
trap '"$AFERIR_ENTER" --stop "$other"' EXIT
"$AFERIR_ENTER" --start "$other" "$server"
tries=600
while [ $tries -gt 0 ]; do
  said=$(eval "$client")
  code=$?
  case $code$said in
    *refused* | *errno=111*) tries=$((tries - 1)) ;;
    0*) break ;;
    *) tries=$((tries - 30)) ;;
  esac
  sleep 0.1
done
printf '%s\\n' "$said"
exit $code
"""


def two_hosts(server: str, client: str, files: tuple[Path, ...] = ()) -> Command:
    """Return a command that runs the server on the second host and the client on the first.

    `server` and `client` are shell commands in which `@` stands for the server's address. `files`
    are aferir's own programs, which are in `$AFERIR_PROGRAMS` on both hosts.
    """
    line = ("-c", _TWO_HOSTS, "two-hosts", server, client)
    return Command(Path("/bin/sh"), line, files=files)


def both_ends(server: Sequence[str], client: Sequence[str]) -> Command:
    """Return a command that runs server and client and prints the client's output.

    Their words must not contain spaces. `@` stands for the server's address: loopback, unless the
    environment is on several hosts.
    """
    there, here = " ".join(server), " ".join(client)
    words = [text.replace("@", LOOPBACK) for text in (there, here)]
    return Command(
        Path("/bin/sh"), ("-c", _SCRIPT, "both-ends", *words), there=two_hosts(there, here)
    )


def find_program(name: str, package: str) -> str:
    """Path of a foreign program. Errors: MissingError that names its Debian package."""
    path = shutil.which(name)
    if path is None:
        raise MissingError(
            f"the program `{name}` is not on this machine", remedy=f"apt-get install {package}"
        )
    return path


def check_program(subject: str, name: str, package: str) -> Finding:
    """Whether a foreign program is installed."""
    try:
        path = find_program(name, package)
    except MissingError as error:
        return Finding(subject, "missing", error.message, error.remedy)
    return Finding(subject, "ok", f"{path} is installed")
