"""Clocks beside their targets, chronyd and ptp4l."""
