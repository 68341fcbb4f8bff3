"""Programs that run inside an environment: one file each, with common parts in `kernels`."""
