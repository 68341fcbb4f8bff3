"""The shared key of a cluster's clocks, in a file: one line of hexadecimal digits.

Whoever has the key can serve any time, so only its owner may read the file.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from aferir.errors import UsageError

_BYTES = 32
_FEWEST_BYTES = 16
"""Shortest key in bytes (RFC 2104): not shorter than the authentication code that is sent."""


def create_key(path: Path) -> bytes:
    """Generate a key and write it to a new file that only its owner may read.

    Errors: UsageError if the file exists or cannot be made.
    """
    key = secrets.token_bytes(_BYTES)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be made: {error.strerror}", remedy="name another file with --key"
        ) from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(key.hex() + "\n")
    return key


def read_key(path: Path) -> bytes:
    """Key in a file. Errors: UsageError if it is missing, readable by others, or no key."""
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            about = os.fstat(file.fileno())
            text = file.read(4096).strip()
    except OSError as error:
        raise UsageError(
            f"the key {path} cannot be read: {error.strerror}",
            remedy="copy it from the server, where `aferir clock serve` has written it",
        ) from None
    if about.st_mode & (stat.S_IRWXG | stat.S_IRWXO) or about.st_uid not in (0, os.geteuid()):
        raise UsageError(f"the key {path} is open to others", remedy=f"chmod 600 {path}")
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) < _FEWEST_BYTES:
        raise UsageError(
            f"{path} holds no key: {2 * _FEWEST_BYTES} hexadecimal digits at least, in one line",
            remedy="remove it and let `aferir clock serve` write a new one, then copy that",
        )
    return key
