"""What watches the host and the instance during a run: one file per probe."""
