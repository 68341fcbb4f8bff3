"""Environment variables by which a program on another host finds what is there, and its peers."""

from __future__ import annotations

PROGRAMS = "AFERIR_PROGRAMS"
"""Environment variable with the folder of our programs on a host that an agent serves."""
PYTHON = "AFERIR_PYTHON"
"""Environment variable with the Python of that agent, for which aferir's modules are there."""
HOSTS = "AFERIR_HOSTS"
"""Environment variable with the names of all hosts of an environment on several, the one that
programs start on first, separated by spaces.
"""
ADDRESSES = "AFERIR_ADDRESSES"
"""Environment variable with one address of each of these hosts, by which the others reach it."""
ENTER = "AFERIR_ENTER"
"""Environment variable with the path of a program that runs a command on another of these hosts, as
ssh does: `enter HOST COMMAND`, `enter --start HOST COMMAND`, `enter --stop HOST`.
"""
