"""The experiment file: TOML in, a validated Plan out, or everything that is wrong with it."""

from __future__ import annotations

from aferir.config.load import load, parse, plan_of, read_bytes
from aferir.config.sections import ProgramRules

__all__ = ["ProgramRules", "load", "parse", "plan_of", "read_bytes"]
