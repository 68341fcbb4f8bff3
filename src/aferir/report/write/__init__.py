"""Forms of a report, one file each; all use the same sections, or the same evaluation."""
