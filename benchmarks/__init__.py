"""Measure aferir beside its peers, kill it and inject faults; not part of the installed package.

The benches run from a clone: `python -m benchmarks`, `python -m benchmarks clock --quick --json`.
"""
