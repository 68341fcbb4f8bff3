"""Verbs, and verbs below a verb: `aferir run`, `aferir clock read`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from types import ModuleType


def add_verbs(
    parser: argparse.ArgumentParser, verbs: Sequence[ModuleType], *, act: str = "execute_verb"
) -> None:
    """Declare each module as a verb; `act` of the parsed options is what the chosen one does."""
    children = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb in verbs:
        child = children.add_parser(
            verb.NAME,
            help=verb.HELP,
            description=verb.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        verb.configure(child)
        child.set_defaults(**{act: verb.execute})
