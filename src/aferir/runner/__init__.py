"""Carrying out a plan: the only folder that joins environments, workloads, probes and the store.

Plain functions in order: `preparation` finds out what can run here, `workflow` goes round by
round, `pool` holds a round's instances, `repetition` runs one cell in one of them.
"""

from __future__ import annotations

from aferir.measuring.snapshots import Watch
from aferir.runner.progress import Progress, Silent
from aferir.runner.workflow import run

__all__ = ["Progress", "Silent", "Watch", "run"]
