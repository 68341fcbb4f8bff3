"""Worth of environments for a user's weights, from runs that are there."""
