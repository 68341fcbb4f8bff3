"""Rank environments by your weights of performance, energy, price and more, from existing runs.

A profile is a file with your weights of performance, energy, elasticity, time precision, isolation
and price, and with the folders of runs. The answer is a ranking, how often each environment would
be first within the uncertainty of all figures, how far each weight would have to change until
another one is, and which figures are missing. docs/guides/evaluate.md shows a profile.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from aferir.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aferir.evaluate.profile import Profile, Weights
    from aferir.report.model import Evaluation

NAME = "evaluate"
HELP = "rank environments by your weights, e.g. of performance, energy and price"
_EXAMPLES = """\
examples:
  aferir evaluate profile.toml
  aferir evaluate profile.toml --weight price=5 --weight energy=0
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir evaluate`."""
    parser.epilog = _EXAMPLES
    parser.add_argument("profile", type=Path, metavar="PROFILE", help="file with weights and runs")
    parser.add_argument(
        "--weight",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="weight that replaces the file's; reports whether it changes the winner",
    )
    parser.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="where to write the page (default: the profile's name with .html, here)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document; no page")


def execute(options: argparse.Namespace) -> int:
    """Rank the environments; returns 1 if none has every figure."""
    import msgspec
    from rich.markdown import Markdown

    from aferir.cli.console import console
    from aferir.evaluate import costs, judge, page, profile
    from aferir.report.write.html import page_of
    from aferir.report.write.markdown import text_of

    read = profile.load(options.profile)
    weights = _changed(read.weights, options.weight)
    runs = _runs(read, options.profile.parent)
    baseline = _baseline(read, runs)
    names = _environments(read, runs)
    found = costs.costs(read, runs, baseline)
    judgement = judge.judge(found, weights, names, seed=read.general.seed)
    by_file = judge.judge(found, read.weights, names, seed=read.general.seed)
    before = by_file.standings[0].environment if by_file.standings else ""
    if options.json:
        print(msgspec.json.format(msgspec.json.encode(judgement)).decode())
    sections = page.sections(read, judgement, names, before)
    title = read.general.title or "What environments are worth"
    said = f"{len(runs)} runs, {len(names)} environments, baseline {baseline}"
    target = options.html or (None if options.json else Path(options.profile.stem + ".html"))
    if target is not None:
        _write(target, page_of(sections, title=title, meta=said, environments=names))
    if not options.json:
        text = text_of(sections, title=title, lead=f"{said}.")
        console().print(Markdown(text))
        print(f"\n{target}")
    return 0 if judgement.standings else 1


def _changed(weights: Weights, written: Sequence[str]) -> Weights:
    """Weights of the profile, overridden by those of the command line. Errors: UsageError."""
    import msgspec

    from aferir.evaluate.profile import CRITERIA
    from aferir.model.words import choose

    for one in written:
        name, _, value = one.partition("=")
        if name not in CRITERIA:
            raise UsageError(f"there is no criterion `{name}`", remedy=choose(name, CRITERIA))
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 <= number <= 1e6:
            raise UsageError(f"`{value}` is no weight", remedy=f"--weight {name}=1")
        weights = msgspec.structs.replace(weights, **{name.replace("-", "_"): number})
    if not any(map(weights.of, CRITERIA)):
        raise UsageError("all weights are 0", remedy="--weight performance=1")
    return weights


def _runs(profile: Profile, folder: Path) -> list[Evaluation]:
    """Evaluations of the profile's runs. Errors: UsageError if a folder is no run."""
    from aferir.cli.publish import evaluate
    from aferir.store import open_run

    return [evaluate(open_run(folder / name)) for name in profile.general.runs]


def _baseline(profile: Profile, runs: Sequence[Evaluation]) -> str:
    """Environment whose cost counts as 1. Errors: UsageError if it is the baseline of no run."""
    from aferir.model.words import choose

    known = list(dict.fromkeys(run.baseline for run in runs))
    wanted = profile.general.baseline or known[0]
    if wanted not in known:
        raise UsageError(
            f"profile.baseline: no run has the baseline `{wanted}`", remedy=choose(wanted, known)
        )
    return wanted


def _environments(profile: Profile, runs: Sequence[Evaluation]) -> list[str]:
    """Environments to rank, by family. Errors: UsageError for names that occur in no run."""
    from aferir.model.plan import environment_family
    from aferir.model.words import choose

    known = list(dict.fromkeys(environment_family(n) for run in runs for n in run.environments))
    wanted = profile.general.environments or known
    for name in wanted:
        if name not in known:
            raise UsageError(
                f"profile.environments: no run has an environment `{name}`",
                remedy=choose(name, known),
            )
    return list(wanted)


def _write(path: Path, text: str) -> None:
    from aferir.linux.refusal import refusals

    with refusals(path, "written"):
        path.write_text(text, encoding="utf-8")
