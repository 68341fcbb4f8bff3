"""Evaluates a run, and writes the page, tables and files about it.

Nothing is imported here; import the file you need: `from aferir.report.analyse import analyse`.
"""
