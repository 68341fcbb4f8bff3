"""Measure ElasticMovie: simulation, viewers, hosts and faults."""
