"""aferir's policy, of small controllers. Its theory is docs/concepts/colocation-modes.md."""

from __future__ import annotations

from aferir.colocation.policies.aferir.policy import Memory, aferir

__all__ = ["Memory", "aferir"]
