"""Judge the change points of `aferir history` on simulated series of runs."""
