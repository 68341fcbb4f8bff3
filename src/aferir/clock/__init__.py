"""The Python face of the clock: offset and rate estimation, and simulated clusters.

Nothing is imported here, so that naming the package costs nothing; import the file you need:
`from aferir.clock.simulate import simulate`. Times are seconds, rates are dimensionless (30 ppm
is 30e-6), and every random draw comes from a numpy Generator that the caller hands in.
"""
