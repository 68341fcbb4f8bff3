"""Undo an aggregate unless it is confirmed in time; `aferir aggregate apply` starts this itself."""

from __future__ import annotations

import argparse

NAME = "guard"
HELP = "undo an aggregate that is not confirmed; started by apply"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir aggregate guard`."""
    parser.add_argument("name", help="name of the aggregate")
    parser.add_argument(
        "--seconds", type=float, required=True, help="seconds to wait for confirmation"
    )


def execute(options: argparse.Namespace) -> int:
    """Wait for the confirmation; exit code 1 if something could not be undone."""
    import contextlib
    import os
    import signal

    from aferir.aggregation import guard
    from aferir.linux import cgroup

    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the terminal may close; the guard stays
    os.chdir("/")
    for root in cgroup.layout().roots():  # a group may be removed together with its members
        with contextlib.suppress(OSError):
            (root / "cgroup.procs").write_text("0", encoding="ascii")
    return 1 if guard.guard(options.name, options.seconds) else 0
