"""Compare network measurements with those of established programs."""
