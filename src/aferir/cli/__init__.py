"""The command line; each verb is one module.

Only these modules, and those with the verbs of other folders (e.g. `hosts.verbs`), print and exit.

Exit codes: 0 success; 1 it ran, but a target was missed or a cell failed; 2 the experiment file or
the command line is wrong, and nothing was started; 3 this machine lacks or refuses something that
was requested; 4 a program that we ran failed; 70 an error in aferir itself; 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from aferir import __version__
from aferir.aggregation import verbs as aggregate
from aferir.cli import (
    bench,
    clean,
    compare,
    completion,
    doctor,
    evaluate,
    explain,
    fetch,
    gate,
    history,
    interactive,
    list_,
    manual,
    measure,
    mpirun,
    report,
    run,
    schema,
    serve,
    streams,
)
from aferir.cli.verbs import Parser, add_verbs
from aferir.clock import verbs as clock
from aferir.cluster import verbs as cluster
from aferir.colocation import verbs as colocate
from aferir.elastic import verbs as elastic
from aferir.errors import AferirError, RefusedError
from aferir.hosts import verbs as hosts
from aferir.hosts.verbs import fleet
from aferir.linux.interrupts import ending_signals
from aferir.linux.refusal import is_refusal, refused
from aferir.power import verbs as power

VERBS: tuple[ModuleType, ...] = (
    doctor,
    run,
    measure,
    explain,
    gate,
    interactive,
    report,
    compare,
    evaluate,
    history,
    serve,
    list_,
    clean,
    schema,
    completion,
    manual,
    bench,
    clock,
    aggregate,
    elastic,
    fetch,
    cluster,
    hosts,
    fleet,
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

exit codes:
  0 fine, 1 a target missed or a cell failed, 2 wrong file or command line,
  3 something is missing or refused here, 4 a program failed,
  70 a fault of aferir's, 130 interrupted
"""


_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


def entry() -> None:
    """Entry point of the console script; a signal that ends it lets every verb clean up."""
    if _BLAS_THREADS not in os.environ:
        # When numpy is imported, OpenBLAS starts a thread for each further processor, which spins
        # at first: 68 ms of CPU time on two. Nothing here uses them. The programs that we start
        # get os.environ, which does not change.
        os.putenv(_BLAS_THREADS, "1")
    streams.install()
    try:
        with ending_signals():
            code = main(sys.argv[1:])
    finally:
        streams.lost()  # flushed here: at the end of Python itself nobody would take an error
    sys.exit(code)


def main(arguments: Sequence[str]) -> int:
    """Run one verb and return its exit code; users never see a traceback."""
    options = parser().parse_args(colocate.separate(mpirun.separate(arguments)))
    try:
        return int(options.execute(options)) or _untold(options)
    except AferirError as error:
        return _complain(options, error)
    except KeyboardInterrupt:
        print("\naferir: interrupted: everything that it made is removed", file=sys.stderr)
        return 130
    except Exception as error:  # noqa: BLE001
        return _unexpected(options, error)


def _unexpected(options: argparse.Namespace, error: Exception) -> int:
    """Report an unexpected error: a refusal of the operating system, or an error in aferir."""
    if isinstance(error, OSError) and is_refusal(error):
        return _complain(options, refused(error))
    # If a library cannot be mapped for lack of memory, only the message says so.
    if isinstance(error, MemoryError) or "failed to map segment" in str(error):
        remedy = "end what else uses the memory, or raise the limit (`ulimit -v`)"
        return _complain(options, RefusedError("there is no memory left", remedy=remedy))
    return _own_fault(options, error)


def _untold(options: argparse.Namespace) -> int:
    """Exit code of a successful command whose answer could not be written.

    Results of a run and files of a report are on the disk in any case.
    """
    reason = streams.lost()
    if reason is None:
        return 0
    error = refused(reason, "standard output", "written")
    print(f"aferir: {error.message}", file=sys.stderr)
    kept = getattr(options, "keeps_results", False) and not getattr(options, "json", False)
    return 0 if kept else error.exit_code


def parser() -> argparse.ArgumentParser:
    """Parser of all verbs; the options of a verb are declared when it is chosen."""
    made = Parser(
        prog="aferir",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"aferir {__version__}")
    made.add_argument(
        "--kernels", action=_Kernels, nargs=0, help="print the folder of the native programs"
    )
    add_verbs(made, VERBS, act="execute")
    return made


class _Kernels(argparse.Action):
    """Prints where kernels, load generators and other native programs are, and exits."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from aferir.installed import programs_folder

        print(programs_folder())
        parser.exit()


def _complain(options: argparse.Namespace, error: AferirError) -> int:
    """Print an error for people, and as JSON if requested; returns its exit code."""
    message, remedy, code = error.message, error.remedy, error.exit_code
    if getattr(options, "json", False):
        print(json.dumps({"error": {"message": message, "remedy": remedy, "exit_code": code}}))
    print(f"aferir: {message}", file=sys.stderr)
    if remedy:
        print(f"  remedy: {remedy}", file=sys.stderr)
    return code


class _OwnFault(AferirError):
    exit_code = 70


def _own_fault(options: argparse.Namespace, error: Exception) -> int:
    """Write the traceback to a file for the developers, and print a short message."""
    import traceback

    from aferir.linux.journal import state_folder

    try:
        path = Path(state_folder()) / "fault.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
        remedy = f"please report it with the details in {path}"
    except (OSError, AferirError):
        remedy = "please report it"
    message = f"a fault of aferir's own: {type(error).__name__}: {error}"
    return _complain(options, _OwnFault(message, remedy=remedy))
