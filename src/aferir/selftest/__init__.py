"""Benches of an installed aferir, with its peers if they are available: one file each.

A bench is a module with HELP, PEERS (names that `--peer` accepts) and `run(options, note)`.
"""
