"""A service and batch work on simulated processors and simulated time.

Policies meet load here before they meet a machine.
"""
