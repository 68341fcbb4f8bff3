"""Aggregation of network links: test networks, methods, the load of each link, and advice."""
