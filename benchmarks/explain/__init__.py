"""Causes that were planted, found again by `aferir explain`; and none where nothing was planted."""
