"""The script by which a program on the first of several hosts runs commands on the others.

It is called as ssh is, so mpirun may use it in place of ssh. Each command goes through a named pipe
to the controller, which has the other host's agent carry it out; hosts need no login to each other.
"""

from __future__ import annotations

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
printf '%s\\n' "$act $*" > "$folder/asked-$host"
read -r code < "$folder/ended-$host"
if [ -e "$folder/said-$host" ]; then cat "$folder/said-$host"; fi
if [ -e "$folder/wrong-$host" ]; then cat "$folder/wrong-$host" >&2; fi
rm -f "$folder/said-$host" "$folder/wrong-$host"
exit "${code:-1}"
"""


def read(text: str) -> tuple[str, str]:
    """Parse one request into its action and its command; both are empty after the last one."""
    act, _, command = text.strip().partition(" ")
    return act, command
