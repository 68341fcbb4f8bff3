"""The entry point: a signal that ends the command unwinds its verb, whichever it is."""

from __future__ import annotations

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
