"""Clouds: one file per interface behind the Protocol in `base`, and hosts simulated here."""
