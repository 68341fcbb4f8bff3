"""Permissions of files that other users must be able to read.

Trees in which programs run belong to root and are read by all their users: with a umask of 027 or
077, which many shells and services set, no other user could load a library there. Private files get
their own mode, independently of the umask.
"""

from __future__ import annotations

import os

_READABLE = 0o022


def everybody_reads() -> None:
    """Set the umask so that all users may read the files of this process and its children.

    It is not restored, because two threads that restore it would interfere.
    """
    os.umask(_READABLE)
