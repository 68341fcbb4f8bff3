"""Declares verbs and sub-verbs: `aferir run`, `aferir clock read`."""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, NoReturn

_NO_VERB = re.compile(r"argument VERB: invalid choice: '([^']*)'")
_MISSING = re.compile(r"arguments are required: ")
_VERB_MISSING = re.compile(r"arguments are required: VERB$")


_LARGEST = 2**53
"""Up to it, a float holds every whole number."""


def _whole(text: str) -> int:
    """Parse an option's whole number: the type that `type=int` stands for."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
    if abs(value) > _LARGEST:
        raise argparse.ArgumentTypeError(f"{text} is too large")
    return value


class Parser(argparse.ArgumentParser):
    """A parser whose errors name a remedy."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.register("type", int, _whole)

    def parse_known_args(  # type: ignore[override] # of the overloads, only what argparse itself calls
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, and refuse what this parser does not know, so that the error names its verb."""
        self._given = list(sys.argv[1:] if args is None else args)
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self._refuse(unknown[0])
        return parsed, []

    def error(self, message: str) -> NoReturn:
        """Print an error with a remedy, and exit with 2."""
        if found := _NO_VERB.search(message):
            self._complain(f"there is no verb `{found[1]}`", self._instead_of(found[1]))
        if _MISSING.search(message) and (option := self._unknown()):
            self._refuse(option)
        if _VERB_MISSING.search(message):
            self._complain("a verb is missing", f"`{self.prog} --help` lists the verbs")
        self._complain(message, f"`{self.prog} --help` explains all arguments", usage=True)

    def _unknown(self) -> str:
        """First option on the command line that this parser does not have; empty if none."""
        known = tuple(self._option_string_actions)
        ours = itertools.takewhile(lambda word: word != "--", self._given)
        names = (word.partition("=")[0] for word in ours if word.startswith("--"))
        return next((name for name in names if not any(k.startswith(name) for k in known)), "")

    def _refuse(self, argument: str) -> NoReturn:
        name = argument.partition("=")[0]
        if not argument.startswith("-"):
            self._complain(
                f"`{argument}` is one argument too many",
                "put quotes around what belongs together, and a command to be run after --",
                usage=True,
            )
        if verbs := self._verbs():
            verb = next((word for word in self._given if word in verbs), "VERB")
            remedy = f"options follow their verb: {self.prog} {verb} {name}"
        else:
            remedy = self._nearest(name, self._option_string_actions, "options")
        self._complain(f"there is no option `{name}`", remedy)

    def _instead_of(self, word: str) -> str:
        if word.endswith(".toml"):
            return f"an experiment file is run by: aferir run {word}"
        return self._nearest(word, self._verbs(), "verbs")

    def _nearest(self, word: str, known: Iterable[str], what: str) -> str:
        """Remedy for an unknown verb or option: the closest known one, and the help."""
        from aferir.model.words import closest

        names = {name.lstrip("-"): name for name in known}
        help_line = f"`{self.prog} --help` lists the {what}"
        nearest = closest(word.lstrip("-"), names)
        return f"did you mean `{names[nearest]}`? {help_line}" if nearest else help_line

    def _verbs(self) -> list[str]:
        return [
            name
            for action in self._actions
            if isinstance(action, argparse._SubParsersAction)  # noqa: SLF001 - argparse has no other way
            for name in action.choices
        ]

    def _complain(self, message: str, remedy: str, *, usage: bool = False) -> NoReturn:
        if usage:
            self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: {message}\n  remedy: {remedy}\n")


class _Verb(Parser):
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
