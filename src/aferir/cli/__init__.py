"""The command line: one verb a file; the only folder that prints and exits.

Exit codes: 0 fine; 1 it ran, but a target was missed or a cell failed; 2 the experiment file or
the command line is wrong, nothing was started; 3 this machine lacks something that was asked for;
4 a program that we ran failed; 70 a fault of aferir's own; 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from aferir import __version__
from aferir.aggregation import verbs as aggregate
from aferir.cli import bench, clean, compare, doctor, fetch, list_, mpirun, report, run
from aferir.cli.verbs import add_verbs
from aferir.clock import verbs as clock
from aferir.cluster import verbs as cluster
from aferir.colocation import verbs as colocate
from aferir.elastic import verbs as elastic
from aferir.errors import AferirError
from aferir.power import verbs as power

VERBS: tuple[ModuleType, ...] = (
    doctor,
    run,
    report,
    compare,
    list_,
    clean,
    bench,
    clock,
    aggregate,
    elastic,
    fetch,
    cluster,
    power,
    mpirun,
    colocate,
)

_DESCRIPTION = (
    "Tells what a computing environment (bare host, container, virtual machine) costs a program."
)
_EPILOG = """\
examples:
  aferir doctor                                what this machine can run, and what is missing
  aferir run experiments/this-machine.toml     evaluate this machine; again: go on where it stopped
  aferir compare runs/A runs/B                 what changed between two runs
  aferir bench npb --quick                     aferir's own kernels, measured

exit codes: 0 fine, 1 a target missed or a cell failed, 2 wrong file or command line,
            3 something is missing here, 4 a program failed, 70 a fault of aferir's, 130 interrupted
"""


def entry() -> None:
    """Console script."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run one verb and give its exit code; no traceback reaches a user."""
    options = _parser().parse_args(colocate.separate(mpirun.separate(arguments)))
    try:
        return int(options.execute(options))
    except AferirError as error:
        _complain(options, error.message, error.remedy, error.exit_code)
        return error.exit_code
    except KeyboardInterrupt:
        print("\naferir: interrupted; everything that was made is given back", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read our output has left; Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001
        return _own_fault(options, error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="aferir",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"aferir {__version__}")
    add_verbs(parser, VERBS, act="execute")
    return parser


def _complain(options: argparse.Namespace, message: str, remedy: str, code: int) -> None:
    if getattr(options, "json", False):
        print(json.dumps({"error": {"message": message, "remedy": remedy, "exit_code": code}}))
    print(f"aferir: {message}", file=sys.stderr)
    if remedy:
        print(f"  remedy: {remedy}", file=sys.stderr)


def _own_fault(options: argparse.Namespace, error: Exception) -> int:
    """Keep the traceback for whoever mends it, in a file and not in the user's face."""
    from aferir.linux.journal import state_folder

    path = Path(state_folder()) / "fault.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
        remedy = f"please report it with the details in {path}"
    except OSError:
        remedy = "please report it"
    _complain(options, f"a fault of aferir's own: {type(error).__name__}: {error}", remedy, 70)
    return 70
