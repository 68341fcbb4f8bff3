"""Co-location: batch work on what a service leaves idle, while the service keeps its SLA.

A policy is a pure function from what is seen (`settings.State`) to what is to be set
(`settings.Settings`); sensors fill the one, `applying` makes the machine follow the other, and a
guard puts everything back. The problem and the first rule: EDFCoaloc.
"""
