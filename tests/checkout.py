"""Where the files are that tests read and that come with no package."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
"""Root folder of the checkout."""
