"""Measure how long `aferir report` takes for runs of usual and of great width."""
