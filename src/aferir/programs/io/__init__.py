"""Programs whose cost per I/O is studied."""
