"""Charts as SVG text, one kind per file; all share `style`."""
