"""Judge the statistics of comparison: simulated data through the product's functions."""
