"""Where programs run: one file per kind of environment behind the Protocol in `base`."""
