"""Reads an experiment file in TOML into a validated Plan, or reports all its errors."""

from __future__ import annotations

from aferir.config.hosts import hosts_of, with_hosts
from aferir.config.load import load, parse, plan_of, read_bytes

__all__ = ["hosts_of", "load", "parse", "plan_of", "read_bytes", "with_hosts"]
