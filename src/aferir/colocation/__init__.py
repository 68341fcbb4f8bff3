"""Co-location: batch work uses the CPU time that a service leaves, while the service meets its SLA.

A policy is a pure function from the observed state (`settings.State`) to settings
(`settings.Settings`). Sensors supply the state, the module `applying` applies the settings to the
machine, and a guard restores everything if the controller dies. The problem and the first rule are
those of EDFCoaloc (Oliveira 2022).
"""
