"""Scripts by which a program on the first of several hosts runs commands on the others.

They take the arguments of ssh, so that mpirun can call them in its place. On the hosts themselves a
command goes through a named pipe to the controller, which has the other host's agent run it; so
hosts need no login to each other. In instances with a network of their own it goes by ssh.
"""

from __future__ import annotations

from aferir.model.variables import PROGRAMS
from aferir.programs.base import PROGRAM_FOLDER

PATH = PROGRAM_FOLDER / "enter"
"""Path of the script on the first host."""

SCRIPT = """#!/bin/sh
# enter HOST COMMAND           runs it there, as ssh does, and prints its output
# enter --start HOST COMMAND   starts it there, and leaves it running
# enter --stop HOST            ends what was started there
folder=${0%/*}
act=run
case $1 in
--make) shift; for host; do mkfifo "$folder/asked-$host" "$folder/ended-$host"; done
  echo "$folder"; exit ;;
--free) shift; for host; do timeout 5 sh -c ': > "$1"' sh "$folder/asked-$host"; done; exit 0 ;;
-x) shift ;;  # as Hydra says to ssh
--start | --stop) act=${1#--}; shift ;;
esac
host=$1; shift
exec 3<> "$folder/ended-$host"  # held from before the request, so that no answer is lost
printf '%s\\n' "$act $*" > "$folder/asked-$host"
read -r code <&3
if [ -e "$folder/said-$host" ]; then cat "$folder/said-$host"; fi
if [ -e "$folder/wrong-$host" ]; then cat "$folder/wrong-$host" >&2; fi
rm -f "$folder/said-$host" "$folder/wrong-$host"
exit "${code:-1}"
"""

TELL = 'echo "$1" 1<> "$2"'
"""Shell command that answers a request by an exit code; it waits for no one, and an answer to a
script that was ended meanwhile is lost.
"""

_STARTED = "/tmp/aferir-started"  # noqa: S108 - in an instance of ours
"""File in an instance with the process groups of programs that were started there."""
_BY_SSH = f"""#!/bin/sh
# enter HOST COMMAND           runs it there, as ssh does
# enter --start HOST COMMAND   starts it there, and leaves it running
# enter --stop HOST            ends what was started there
there() {{
  SSH "$host" "{PROGRAMS}={PROGRAM_FOLDER}; export {PROGRAMS}; $*"
}}
act=run
case $1 in
-x) shift ;;  # as Hydra says to ssh
--start | --stop) act=${{1#--}}; shift ;;
esac
host=$1; shift
case $act in
start) printf '%s' "$*" | there '
  command=$(cat)
  setsid sh -c "$command" < /dev/null > /dev/null 2>&1 & echo $! >> {_STARTED}' ;;
stop) there '
  [ -e {_STARTED} ] || exit 0
  while read -r pid; do
    kill -TERM -- "-$pid"
    left=50
    while kill -0 -- "-$pid" && [ $left -gt -600 ]; do  # nobody may reap what is killed
      [ $left -gt 0 ] || kill -KILL -- "-$pid"
      left=$((left - 1)); sleep 0.1
    done
  done < {_STARTED} 2> /dev/null
  rm -f {_STARTED}' ;;
run) there "$@" ;;
esac
"""


def by_ssh(ssh: str) -> str:
    """Script that runs commands in other instances; `ssh` is the command of ssh(1) to use."""
    return _BY_SSH.replace("SSH", ssh)


def read(text: str) -> tuple[str, str]:
    """Parse one request; returns its action and its command, or two empty texts at the end."""
    act, _, command = text.strip().partition(" ")
    return act, command
