"""Any command line as a program: what it is given, how its figures are read, what verifies it."""
