"""Print the manual page of a verb, or write the pages of all verbs.

examples:
    aferir manual measure | man -l -
    aferir manual --to ~/.local/share/man/man1     then: man aferir-measure
    aferir manual --markdown                       all verbs and their options, as a page
"""

from __future__ import annotations

import argparse
from pathlib import Path

from aferir import __version__
from aferir.errors import UsageError

NAME = "manual"
HELP = "manual pages of the verbs, for man(1)"
_SUMMARY = "what a computing environment costs a program"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir manual`."""
    parser.add_argument("verb", nargs="*", metavar="VERB", help="e.g. run, or cluster create")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="write all pages into it")
    parser.add_argument("--markdown", action="store_true", help="print all pages as Markdown")


def execute(options: argparse.Namespace) -> int:
    """Print the reference page, or write all manual pages into a folder."""
    from aferir.cli import manual_page, parser
    from aferir.cli.verbs import declare_all

    made = parser()
    declare_all(made)
    found = manual_page.pages(made, _SUMMARY)
    if options.markdown:
        print(manual_page.markdown(found), end="")
    elif options.to is not None:
        options.to.mkdir(parents=True, exist_ok=True)
        for page in found:
            text = manual_page.roff(page, __version__)
            (options.to / f"{page.title}.1").write_text(text, encoding="utf-8")
    else:
        wanted = " ".join(["aferir", *options.verb])
        chosen = next((one for one in found if one.command == wanted), None)
        if chosen is None:
            raise UsageError(f"there is no verb `{wanted}`", remedy="`aferir --help` lists them")
        print(manual_page.roff(chosen, __version__), end="")
    return 0
