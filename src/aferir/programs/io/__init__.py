"""Programs for studies of cost per I/O."""
