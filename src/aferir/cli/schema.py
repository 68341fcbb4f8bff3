"""Print what an experiment file may say, for editors and other programs: a JSON Schema.

It is of this installation, with the kinds of environment and the programs that other packages add.

examples:
  aferir schema > experiment.schema.json
  aferir schema --markdown                  every parameter of every program, as a page
  aferir schema --markdown environments     every key of every kind of environment
"""

from __future__ import annotations

import argparse

NAME = "schema"
HELP = "what an experiment file may say, as a JSON Schema"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir schema`."""
    parser.add_argument(
        "--markdown",
        nargs="?",
        const="programs",
        choices=("programs", "environments"),
        help="print the page of the programs' parameters instead, or of the environments' keys",
    )


def execute(options: argparse.Namespace) -> int:
    """Print it."""
    import json

    from aferir import registry
    from aferir.config import reference, schema

    programs = registry.all_programs()
    if options.markdown == "environments":
        print(reference.environments(registry.kinds()), end="")
    elif options.markdown:
        print(reference.page(programs), end="")
    else:
        print(json.dumps(schema.document(programs, registry.kinds()), indent=1))
    return 0
