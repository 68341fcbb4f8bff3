"""Which rights the files that we make have, when others than their owner are to use them.

Trees that programs run in belong to root and are read by every user of them: with a umask of
027 or 077, which many shells and services hand on, nobody else could load a library there.
What is to be private is made so by its own mode, and not by the umask.
"""

from __future__ import annotations

import os

_READABLE = 0o022


def everybody_reads() -> None:
    """From now on all may read what this process and its children make, unless a mode says not.

    It stays so: between two threads of which each would give the umask back, one would lose.
    """
    os.umask(_READABLE)
