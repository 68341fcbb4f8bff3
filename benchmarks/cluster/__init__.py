"""Measure virtual clusters: life cycle, network and programs, beside peers."""
