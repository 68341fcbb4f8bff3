"""The entry point: a signal that ends the command unwinds its verb, and numpy starts no threads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

VERB = """
import signal, sys
from aferir import cli

class Verb:
    def parse_args(self, _):
        return self

    def execute(self, _):
        try:
            signal.raise_signal(int(sys.argv[1]))
        finally:
            print("given back")

cli.parser = Verb
signal.signal(int(sys.argv[1]), signal.SIG_DFL)  # nohup and shells may ignore it
cli.entry()
"""


@pytest.mark.parametrize("number", [1, 2, 15], ids=["SIGHUP", "SIGINT", "SIGTERM"])
def test_a_signal_that_ends_a_verb_lets_it_give_back(number: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", VERB, str(number)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (130, "given back\n"), done.stderr


THREADS = """
import os
from aferir import cli
from aferir.linux import process

class Verb:
    def parse_args(self, _):
        return self

    def execute(self, _):
        import numpy
        seen = process.run(["sh", "-c", "echo ${OPENBLAS_NUM_THREADS-unset}"]).stdout.strip()
        print(len(os.listdir("/proc/self/task")), seen, flush=True)
        words = ["sh", "-c", "echo ${OPENBLAS_NUM_THREADS-unset}"]
        os.execve("/bin/sh", words, os.environ)

cli.parser = Verb
cli.entry()
"""


@pytest.mark.parametrize("given", [None, "1"])
def test_numpy_starts_no_threads_and_programs_are_not_told(given: str | None) -> None:
    variables = {name: value for name, value in os.environ.items() if "_NUM_THREADS" not in name}
    chosen = {} if given is None else {"OPENBLAS_NUM_THREADS": given}
    done = subprocess.run(
        [sys.executable, "-c", THREADS],
        env=variables | chosen,
        capture_output=True,
        text=True,
        check=False,
    )
    expected = given or "unset"
    assert done.stdout.split() == ["1", expected, expected], done.stderr
