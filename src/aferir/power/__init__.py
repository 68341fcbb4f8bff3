"""Watts of a server from whatever can tell them: counters, sensors, a UPS, an outlet, a model.

Each source says what its figures are worth: whose power it is, its resolution, its accuracy, how
often it changes, and the most that the device can give. A reading that cannot be true is refused
with the reason and never averaged in.
"""
