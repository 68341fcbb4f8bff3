"""Paths of files of the repository that tests read and that no package installs."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
"""Root folder of the checkout."""
