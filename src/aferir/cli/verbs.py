"""Declares verbs and sub-verbs: `aferir run`, `aferir clock read`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from types import ModuleType


class _Verb(argparse.ArgumentParser):
    """A parser whose options are declared only when its verb is chosen.

    Options made from a program's parameters import that program, which takes time.
    """

    declare: Callable[[argparse.ArgumentParser], None] | None = None

    def parse_known_args(  # type: ignore[override] # of the overloads, only what argparse itself calls
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Declare the options, and parse."""
        if self.declare is not None:
            declare, self.declare = self.declare, None
            declare(self)
        return super().parse_known_args(args, namespace)


def declare_all(parser: argparse.ArgumentParser) -> None:
    """Declare the options of all sub-verbs too, for tools that list them."""
    if isinstance(parser, _Verb) and parser.declare is not None:
        declare, parser.declare = parser.declare, None
        declare(parser)
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to its parts
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for child in action.choices.values():
                declare_all(child)


def add_verbs(
    parser: argparse.ArgumentParser, verbs: Sequence[ModuleType], *, act: str = "execute_verb"
) -> None:
    """Declare each module as a verb; attribute `act` of the options is the verb's function."""
    children = parser.add_subparsers(
        title="verbs", metavar="VERB", required=True, parser_class=_Verb
    )
    for verb in verbs:
        child = children.add_parser(
            verb.NAME,
            help=verb.HELP,
            description=verb.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        child.declare = verb.configure
        child.set_defaults(**{act: verb.execute})
