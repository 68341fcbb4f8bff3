"""Formats of logs, one declaration a file: `FORMAT` says its name and what reads a line of it."""
