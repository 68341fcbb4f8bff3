"""Options for virtual machines of Java in tests."""

from __future__ import annotations

QUICK = "-XX:TieredStopAtLevel=1"
"""Options of those that end too soon to win by being optimised: C2 takes more than it saves."""
