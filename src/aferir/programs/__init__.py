"""What runs inside an environment: one file per program, and what they share in `kernels`."""
