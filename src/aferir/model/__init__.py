"""Frozen values that flow through aferir: no input or output, nothing of ours imported."""
