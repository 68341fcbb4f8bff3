"""Environment variables by which a program on another host finds our programs and other hosts."""

from __future__ import annotations

PROGRAMS = "AFERIR_PROGRAMS"
"""Environment variable with the folder of our programs on a host that an agent serves."""
PYTHON = "AFERIR_PYTHON"
"""Environment variable with the path of the agent's Python, which finds aferir's modules."""
PRELOAD = "AFERIR_PRELOAD"
"""Environment variable with the name of a library of ours that ranks on several hosts preload; each
host has it in its folder of our programs."""
HOSTS = "AFERIR_HOSTS"
"""Environment variable with the names, separated by spaces, of all hosts of an environment that
spans several; programs start on the first.
"""
ADDRESSES = "AFERIR_ADDRESSES"
"""Environment variable with one address of each host in `HOSTS`, at which the others reach it."""
ENTER = "AFERIR_ENTER"
"""Environment variable with the path of a program that runs a command on another host in `HOSTS`,
as ssh does: `enter HOST COMMAND`, `enter --start HOST COMMAND`, `enter --stop HOST`.
"""
