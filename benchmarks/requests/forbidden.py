"""Run a command under a seccomp filter that refuses epoll_pwait2(2): forbidden.py ERRNO COMMAND...

A container's profile that is older than the call refuses it with EPERM, a kernel before Linux 5.11
with ENOSYS. Exit code 99 if the filter has no effect. Nothing of ours is imported.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 22, 38
_SECCOMP_MODE_FILTER = 2
_RET_ALLOW, _RET_ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_EPOLL_PWAIT2 = 441
"""Number of the call on every architecture: it was added after they were unified."""


class _Program(ctypes.Structure):
    """`struct sock_fprog` of linux/filter.h."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def main(number: int, command: list[str]) -> None:
    """Install the filter and execute `command`."""
    instructions = (
        (_LOAD, 0, 0, 0),  # seccomp_data.nr is at 0
        (_JUMP_IF_EQUAL, 0, 1, _EPOLL_PWAIT2),
        (_RETURN, 0, 0, _RET_ERRNO | number),
        (_RETURN, 0, 0, _RET_ALLOW),
    )
    code = b"".join(struct.pack("HBBI", *one) for one in instructions)
    memory = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(instructions), ctypes.addressof(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)
    ctypes.set_errno(0)
    if libc.syscall(_EPOLL_PWAIT2, -1, 0, 0, 0, 0) == 0 or ctypes.get_errno() != number:
        sys.exit(99)
    os.execv(command[0], command)  # noqa: S606 - the command line says what is executed


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
