"""Pure functions on samples: summaries, intervals, checks, comparisons and verdicts.

Nothing is imported here, so that naming the package costs nothing; import the file you need:
`from aferir.statistics.ratio import paired_ratio`.
"""
