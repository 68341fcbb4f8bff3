"""Measures what a computing environment costs a program, and reduces that cost."""

__version__ = "0.1.0"
