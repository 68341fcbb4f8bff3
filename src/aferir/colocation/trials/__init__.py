"""Trials of policies on a real service: interleaved arms under an open-loop load."""
