"""Measure the time to interactive of every kind of environment, part by part."""
