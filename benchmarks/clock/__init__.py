"""Measure the clocks and compare them with their targets, with chronyd and with ptp4l."""
