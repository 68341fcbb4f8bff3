"""Remove from every host what ended controllers left there."""

from __future__ import annotations

import argparse

from aferir.hosts.verbs.options import add_file, chosen

NAME = "clean"
HELP = "remove what killed runs left on the hosts"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir hosts clean`."""
    add_file(parser)


def execute(options: argparse.Namespace) -> int:
    """Returns exit code 1 if something could not be removed."""
    from aferir.hosts import reaching

    hosts = reaching.connect(chosen(options))
    try:
        left = reaching.clean(hosts)
    finally:
        for host in hosts:
            host.lose()
    for name, problems in left.items():
        print(f"{name}: {'; '.join(problems) if problems else 'clean'}")
    return 1 if any(left.values()) else 0
