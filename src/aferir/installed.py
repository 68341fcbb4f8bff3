"""Files that come with the installed package besides its modules: kernels, published results."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path


def installed(name: str) -> Path | None:
    """Path of `aferir/<name>` in the installation; None where aferir is not installed."""
    try:
        return Path(str(metadata.distribution("aferir").locate_file(f"aferir/{name}")))
    except metadata.PackageNotFoundError:
        return None
