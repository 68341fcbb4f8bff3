"""Verbs below a verb: `aferir clock read`, `aferir elastic simulate`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from types import ModuleType


def add_verbs(parser: argparse.ArgumentParser, verbs: Sequence[ModuleType]) -> None:
    """Declare each module as a verb; `execute_verb` of the parsed options is the chosen one's."""
    children = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb in verbs:
        child = children.add_parser(
            verb.NAME,
            help=verb.HELP,
            description=verb.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        verb.configure(child)
        child.set_defaults(execute_verb=verb.execute)
