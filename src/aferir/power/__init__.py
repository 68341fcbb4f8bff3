"""Power of a server in watts, from any source: counters, sensors, a UPS, an outlet, a model.

Each source describes its figures: scope, resolution, accuracy, update period, and the largest
possible value. An impossible reading is refused with a reason and never included in a mean.
"""
