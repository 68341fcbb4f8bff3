"""Limits on the batch program's resources other than processors, one resource per module.

Each module has `writes`, which says what to write from one setting of the batch to the next, and
`can`, which says whether the kernel has the files for it.
"""
