"""aferir measured, beside its peers where they are at hand: one file per bench.

A bench is a module with HELP, PEERS (names that `--peer` takes) and `run(options, note)`.
"""
