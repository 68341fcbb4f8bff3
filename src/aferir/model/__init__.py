"""Frozen values that all other folders exchange: no I/O, and no imports from the rest of aferir."""
