"""The accounts of I/O against what is known, and the programs of the study."""
