"""Any command line as a program: its inputs, the parsing of its figures, and their verification."""
