"""Published results beside a run's own: one declaration for each table of `reference/`."""
