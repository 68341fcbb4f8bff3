"""Forms of a report, one file each: all walk the same sections, or the same evaluation."""
