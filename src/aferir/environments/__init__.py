"""Where programs run: one file or folder for each kind of environment, behind `base`'s Protocol."""
