"""aferir's own policy, made of small controllers; see docs/concepts/colocation-modes.md."""

from __future__ import annotations

from aferir.colocation.policies.aferir.policy import Memory, aferir

__all__ = ["Memory", "aferir"]
