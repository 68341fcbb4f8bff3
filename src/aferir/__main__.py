"""`python -m aferir` is `aferir`."""

from aferir.cli import entry

entry()
