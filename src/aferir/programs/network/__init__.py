"""Programs that measure a network."""
