"""ElasticMovie: simulation, viewers, hosts and faults."""
