"""Containers by LXC."""
