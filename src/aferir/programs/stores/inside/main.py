"""The program that is put into an instance: `stores.pyz PROGRAM OPTION...`.

Prints one line of JSON like aferir's other programs. Exit code 1, with a reason on standard error,
if the program or its server failed, or memory or disk space ran out.
"""

from __future__ import annotations

import errno
import json
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence

from aferir.programs.stores.inside import blast, hbase, key_value, oltp, oltp_sysbench
from aferir.programs.stores.inside.outcome import FailedError, WrongError
from aferir.programs.stores.inside.workplace import end_on_signals, workplace

_PROGRAMS = {module.PROGRAM: module for module in (blast, hbase, key_value, oltp, oltp_sysbench)}


def main(words: Sequence[str] | None = None) -> int:
    """Run one program; returns its exit code."""
    parser = ArgumentParser(prog="stores")
    programs = parser.add_subparsers(dest="program", required=True)
    for name, module in _PROGRAMS.items():
        module.arguments(programs.add_parser(name))
    given = parser.parse_args(words)
    end_on_signals()
    try:
        with workplace(given.program) as place:
            figures = _PROGRAMS[given.program].run(given, place)
    except WrongError as error:
        return _say(given.program, {"verified": False, "error": str(error)}, 1)
    except FailedError as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit("the disk is full" if error.errno == errno.ENOSPC else str(error))
    return _say(given.program, {"verified": True, **figures.printed()}, 0)


def _say(program: str, figures: Mapping[str, object], code: int) -> int:
    sys.stdout.write(json.dumps({"program": program, **figures}) + "\n")
    return code
