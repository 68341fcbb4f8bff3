"""Clocks for Python: estimation of offset and rate, and simulated clusters.

Nothing is imported here, so that importing the package is fast; import the file you need: `from
aferir.clock.simulate import simulate`. Times are in s, rates are dimensionless (30 ppm is 30e-6),
and all random numbers come from a numpy Generator that the caller passes.
"""
