"""ElasticMovie: an elastic video service that shows the cost of an environment's latencies.

The method is that of Dutra 2015, chapters 4 and 5. `front` makes all decisions from events alone.
Its caller supplies the time: simulated time in the simulation, the machine's clock in the service.
"""
