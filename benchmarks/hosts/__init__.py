"""Measure many hosts at once: real agents in namespaces, and simulated ones by the thousand."""
