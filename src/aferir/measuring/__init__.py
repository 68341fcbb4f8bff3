"""One program between two looks of the probes, on the machine where it runs."""
