"""Remove everything that a killed run left: containers, guests, mounts, control groups.

Things of a run that is still active are not touched, nor are clusters, which are kept on purpose.
In clouds that were used, instances of ours without a journal entry are removed too.
"""

from __future__ import annotations

import argparse
from pathlib import Path

NAME = "clean"
HELP = "remove what a killed run left behind"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir clean`."""
    parser.add_argument("--json", action="store_true", help="print what was removed as JSON")
    parser.add_argument(
        "--images", action="store_true", help="also remove cached images (rebuilt when needed)"
    )
    parser.add_argument(
        "--cloud",
        type=Path,
        metavar="FILE",
        help="also search this cloud for instances of ours; clouds that were used are in any case",
    )
    parser.add_argument(
        "--of-others",
        action="store_true",
        help="with --cloud: also remove what another machine or state folder made, even if in use",
    )
    parser.add_argument(
        "--clusters", action="store_true", help="also destroy all clusters, and what is on them"
    )


def execute(options: argparse.Namespace) -> int:
    """Clean up every journal entry whose owner is dead; exit code 1 if something is left."""
    import json

    from aferir import registry
    from aferir.clouds import providers
    from aferir.cluster import manager, storing
    from aferir.linux import journal

    orphans = journal.orphans()
    problems = registry.clean(orphans)
    gone = [entry for entry in orphans if journal.read(entry.id) is None]
    removed = [f"{entry.kind} {entry.id}" for entry in gone]
    swept = providers.sweep(options.cloud, of_others=options.of_others)
    removed += swept.removed
    problems += swept.problems
    for name in storing.names() if options.clusters else []:
        manager.destroy(name)
        removed.append(f"cluster {name}")
    if options.images:
        from aferir.image.userland import remove_images

        removed.extend(remove_images(registry.image_users()))
    if options.json:
        found = {"removed": removed, "problems": problems, "of_others": swept.of_others}
        print(json.dumps(found))
    else:
        for line in removed:
            print(f"removed {line}")
        for line in problems:
            print(line)
        for name in swept.of_others:
            print(f"left alone: instance {name}, of another machine or state folder")
        if not removed and not problems:
            print("Nothing was left behind.")
    return 1 if problems else 0
