"""Print the JSON Schema of experiment files or of a file of a run, for editors and programs.

That of experiment files includes the kinds of environment and the programs that other packages add
to this installation.

examples:
    aferir schema > experiment.schema.json
    aferir schema --of report.json            the files of a run, with the version of their form
    aferir schema --markdown                  every parameter of every program, as a page
    aferir schema --markdown environments     every key of every kind of environment
    aferir schema --markdown sections         every key of the other tables of a file
    aferir schema --markdown published        every published result, and what answers it
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

NAME = "schema"
HELP = "JSON Schema of experiment files and of a run's files"
FILES_OF_A_RUN = (
    "run.json",
    "plan.json",
    "provenance.json",
    "records.jsonl",
    "complete.json",
    "report.json",
)
"""Keys of `report.schemas.FILES`, repeated here so that other verbs need not import that module."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir schema`."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--of",
        choices=FILES_OF_A_RUN,
        help="print the schema of this file of a run instead",
    )
    what.add_argument(
        "--markdown",
        nargs="?",
        const="programs",
        choices=("programs", "environments", "sections", "published"),
        help="print a page instead: of the programs' parameters (if nothing is said), or of the "
        "keys of environments, of the other sections, or of published results",
    )


def execute(options: argparse.Namespace) -> int:
    """Print the JSON Schema, or with `--markdown` a page of the reference."""
    import json

    from aferir import registry
    from aferir.config import reference, schema
    from aferir.installed import installed
    from aferir.report import schemas
    from aferir.report.published import page
    from aferir.report.published.compare import load

    pages: dict[str, Callable[[], str]] = {
        "programs": lambda: reference.page(registry.all_programs()),
        "environments": lambda: reference.environments(registry.kinds()),
        "sections": reference.sections,
        "published": lambda: page.page(load(installed("reference"))),
    }
    if options.markdown:
        print(pages[options.markdown](), end="")
    else:
        document = (
            schemas.schema(options.of)
            if options.of
            else schema.document(registry.all_programs(), registry.kinds())
        )
        print(json.dumps(document, indent=1))
    return 0
