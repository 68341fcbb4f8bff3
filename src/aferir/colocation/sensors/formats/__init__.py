"""Log formats, one per file: each `FORMAT` declares a name and a parser of one line."""
