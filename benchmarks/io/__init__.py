"""Judge the accounts of I/O by known values, and run the programs of the study."""
