"""Whether the statistics of comparison hold: simulated data through the product's functions."""
