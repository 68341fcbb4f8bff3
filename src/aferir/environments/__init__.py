"""Where programs run: one file or folder per kind of environment behind the Protocol in `base`."""
