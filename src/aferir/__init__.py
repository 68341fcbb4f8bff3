"""Measures what a computing environment costs a program, and reduces that cost."""

__version__ = "0.2.0"
RELEASED = "2026-11-26"
"""Date of this version in CHANGELOG.md and in the heads of the manual pages."""
