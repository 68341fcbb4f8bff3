"""What the batch program may use beside processors, one resource a file.

Each module has `writes`, which says what to write from one setting of the batch to the next, and
`can`, which says whether the kernel has the files for it.
"""
