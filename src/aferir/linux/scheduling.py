"""sched_setattr(2) and sched_getattr(2) through the compiled library, for any architecture."""

from __future__ import annotations

import ctypes
import os
from functools import cache

from aferir.errors import MissingError
from aferir.installed import installed

_LIBRARY = "lib/libaferir-linux.so"


class SchedAttr(ctypes.Structure):
    """struct sched_attr in its first version, as in native/linux/scheduling.h."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


def get(tid: int) -> SchedAttr:
    """Scheduling attributes of a thread; 0 is the calling thread. Errors: OSError, e.g. ESRCH."""
    found = SchedAttr()
    _raise(library().aferir_scheduling_get(tid, ctypes.byref(found)))
    return found


def set_(tid: int, wanted: SchedAttr) -> None:
    """Set the attributes of a thread; 0 is the calling thread. Errors: OSError."""
    _raise(library().aferir_scheduling_set(tid, ctypes.byref(wanted)))


@cache
def library() -> ctypes.CDLL:
    """The library, loaded once. Errors: MissingError if this installation has none."""
    path = installed(_LIBRARY)
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise MissingError(
            f"this installation of aferir cannot set scheduling attributes ({error})",
            remedy="install aferir again with a C compiler: pip install .",
        ) from None


def _raise(number: int) -> None:
    if number != 0:
        raise OSError(number, os.strerror(number))
