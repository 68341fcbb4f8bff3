"""ElasticMovie: an elastic video service that shows what an environment's latencies cost it.

The method is that of Dutra 2015, chapters 4 and 5. `front` decides, on events alone; whoever
calls it brings the time: the simulation a simulated one, the service the machine's.
"""
