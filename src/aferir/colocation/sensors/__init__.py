"""Sensors of a service's latency: its log, its own metrics, or requests sent to it."""
