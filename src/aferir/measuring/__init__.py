"""Measures one program between two snapshots of the probes, on the machine where it runs."""
