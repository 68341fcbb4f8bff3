"""A service and batch work on simulated CPUs and simulated time.

Policies are tested here before they are tested on a machine.
"""
