"""Judge the statistics of comparisons by applying the product's functions to simulated data."""
