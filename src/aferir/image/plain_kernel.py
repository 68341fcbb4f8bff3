"""Kernels without their compression, for guests that are emulated.

A compressed kernel decompresses itself, which an emulated processor takes long for: of 3.9 s of the
host's processor until its first program, Debian's full kernel (xz) takes 2.4 s, and of 1.7 s its
cloud kernel (lz4) 0.3 s.

Source: The Linux/x86 Boot Protocol; pvh.txt and elfnote.h of Xen; lz4_Frame_format.md.
"""

from __future__ import annotations

import contextlib
import ctypes
import lzma
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from aferir.linux import journal

NAME = "vmlinux"
_XZ, _LZ4 = b"\xfd7zXZ\0", b"\x02\x21\x4c\x18"
_LZ4_BLOCK = 8 << 20
"""Bytes of a decompressed block of lz4's legacy frame, at most."""
_SIZE = struct.Struct("<I")
"""Number of bytes that stands before a block of lz4, and behind what is compressed as a whole."""
_PROGRAM_NOTE, _ENTRY = 4, 18
"""PT_NOTE, and the type of Xen's note with the 32-bit entry, at which QEMU starts the kernel."""


def beside(compressed: Path) -> Path:
    """One of our kernels without its compression: the file NAME beside it, written if need be.

    `compressed` itself if it cannot be started in that form, or that file not be written or read.
    """
    plain = compressed.with_name(NAME)
    if not plain.exists():
        with contextlib.suppress(ValueError, struct.error, lzma.LZMAError, OSError):
            content = _decompressed(_payload(compressed.read_bytes()))
            if _has_entry(content):
                journal.write_durably(plain, content)
    return plain if os.access(plain, os.R_OK) else compressed


def _payload(image: bytes) -> bytes:
    """What a bzImage decompresses. Errors: ValueError."""
    if image[0x202:0x206] != b"HdrS":
        raise ValueError("no bzImage")
    begin = (image[0x1F1] + 1) * 512
    offset, length = struct.unpack_from("<II", image, 0x248)
    return image[begin + offset : begin + offset + length]


def _decompressed(payload: bytes) -> bytes:
    """What a payload holds. Errors: ValueError, LZMAError; OSError without the library of lz4."""
    if payload.startswith(_XZ):
        return lzma.decompress(payload[: -_SIZE.size])
    if payload.startswith(_LZ4):
        return b"".join(_lz4_blocks(payload[len(_LZ4) : -_SIZE.size]))
    raise ValueError("compressed by another program")


def _lz4_blocks(frame: bytes) -> Iterator[bytes]:
    """The blocks of a legacy frame without its magic number. Errors: ValueError, OSError."""
    library = ctypes.CDLL("liblz4.so.1")
    block = ctypes.create_string_buffer(_LZ4_BLOCK)
    at = 0
    while at < len(frame):
        (length,) = _SIZE.unpack_from(frame, at)
        at += _SIZE.size
        compressed = frame[at : at + length]
        size = library.LZ4_decompress_safe(compressed, block, len(compressed), _LZ4_BLOCK)
        if size <= 0:
            raise ValueError("a broken block")
        yield block.raw[:size]
        at += length


def _has_entry(kernel: bytes) -> bool:
    """Whether this 64-bit ELF file has Xen's note with a 32-bit entry. Errors: struct.error."""
    (table,) = struct.unpack_from("<Q", kernel, 32)
    size, count = struct.unpack_from("<HH", kernel, 54)
    for number in range(count):
        kind, _, begin, _, _, length = struct.unpack_from("<IIQQQQ", kernel, table + number * size)
        if kind == _PROGRAM_NOTE and ("Xen\0", _ENTRY) in _notes(kernel[begin : begin + length]):
            return True
    return False


def _notes(segment: bytes) -> Iterator[tuple[str, int]]:
    """Owner and type of each note of an ELF segment (elf(5))."""
    at = 0
    while at < len(segment):
        name, description, kind = struct.unpack_from("<III", segment, at)
        at += 12
        yield segment[at : at + name].decode("latin-1"), kind
        at += -(-name // 4) * 4 + -(-description // 4) * 4
