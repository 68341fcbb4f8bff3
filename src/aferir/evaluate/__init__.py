"""Ranks environments by criteria that the user weights, from runs that exist already."""
