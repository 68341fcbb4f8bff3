"""Sends requests to a running User-Mode Linux kernel, e.g. to stop or continue it.

Source: arch/um/drivers/mconsole.h of the kernel. One datagram holds a request of at most 512
characters; an answer may consist of several.
"""

from __future__ import annotations

import socket
import struct
from pathlib import Path

from aferir.errors import ProgramError

_MAGIC, _VERSION, _SIZE = 0xCAFEBABE, 2, 512
_REQUEST = struct.Struct(f"=IIi{_SIZE}s")
_ANSWER = struct.Struct("=iii")
_LIMIT_S = 60.0


def ask(path: Path, request: str) -> str:
    """Answer of the kernel to `stop`, `go`, `version`, ... Errors: ProgramError."""
    text = request.encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.bind("")  # an address that the kernel chooses, to be answered at (unix(7))
        line.settimeout(_LIMIT_S)
        try:
            line.sendto(_REQUEST.pack(_MAGIC, _VERSION, len(text), text), str(path))
            said = b""
            more = 1
            while more:
                answer = line.recv(_ANSWER.size + _SIZE)
                failed, more, size = _ANSWER.unpack_from(answer)
                said += answer[_ANSWER.size : _ANSWER.size + size].rstrip(b"\0")
        except OSError as error:
            raise ProgramError(f"the guest's kernel did not do `{request}`: {error}") from None
    if failed:
        raise ProgramError(f"the guest's kernel refused `{request}`: {said.decode()}")
    return said.decode()
