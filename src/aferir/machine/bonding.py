"""Whether this kernel has the bonding driver (Documentation/networking/bonding.rst)."""

from __future__ import annotations

from pathlib import Path

from aferir.errors import AferirError, MissingError
from aferir.linux import process
from aferir.machine import packages


def is_there() -> bool:
    """True if the driver is loaded, or is a module that the kernel loads for its first bond."""
    if Path("/proc/net/bonding").exists():
        return True
    try:
        found = process.run(
            ["modprobe", "--dry-run", "--quiet", "bonding"],
            timeout_s=60,
            environment={"PATH": packages.search_path()},
            check=False,
        )
    except AferirError:
        return False
    return found.exit_code == 0


def require(mode: str) -> None:
    """Check that the bonding driver is there, which `mode` needs. Errors: MissingError."""
    if not is_there():
        raise MissingError(
            f"`{mode}` needs the bonding driver, which this kernel does not have",
            remedy="install the kernel's modules (on Ubuntu linux-modules-extra-$(uname -r)) and"
            " `sudo modprobe bonding`, or choose single, mptcp, multipath or multi-rail",
        )
