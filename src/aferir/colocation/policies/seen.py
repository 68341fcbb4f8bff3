"""State of the policy `aferir` together with what it remembers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aferir.colocation.settings import State


class Seen(State, frozen=True, kw_only=True):
    """State of one decision and the values that the last one stored."""

    memory: Mapping[str, float] = MappingProxyType({})
