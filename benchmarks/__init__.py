"""aferir measured beside its peers, killed and faulted; not part of the installed package.

From a clone: `python -m benchmarks`, `python -m benchmarks clock --quick --json`.
"""
