"""Starts sleeping programs that a test ends, and finds them among all processes of the machine."""

from __future__ import annotations

import secrets


def nobody_elses() -> str:
    """A duration for sleep(1), in s, that no other program here has: from 31 to 63 years."""
    return str(10**9 + secrets.randbelow(10**9))
