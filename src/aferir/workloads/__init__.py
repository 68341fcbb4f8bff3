"""Programs to measure: one file per program behind the Protocol in `base`."""
