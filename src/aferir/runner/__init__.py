"""Carries out a plan; the only folder that joins environments, programs, probes and the store.

`preparation` finds out what can run on this machine, `workflow` runs the rounds one after another,
`pool` holds the instances of a round, `repetition` runs one cell in one of them.
"""

from __future__ import annotations

from aferir.measuring.snapshots import Watch
from aferir.runner.progress import Progress, Silent
from aferir.runner.workflow import run

__all__ = ["Progress", "Silent", "Watch", "run"]
