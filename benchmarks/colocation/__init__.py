"""Measure batch work beside a service: every policy beside the others, and kills."""
