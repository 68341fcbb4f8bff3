"""Receivers of messages about slow steps, such as the building of an image."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str], None]


def silent(_: str) -> None:
    """Discard the message."""
