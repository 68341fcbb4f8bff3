"""A kernel is decompressed where QEMU can start it in that form."""

from __future__ import annotations

import ctypes
import gzip
import lzma
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.image import plain_kernel

_ENTRY = (b"Xen\0", 18)
_SETUP_SECTORS = 3


def elf(notes: list[tuple[bytes, int]]) -> bytes:
    """An ELF file with one segment that is loaded and one of notes, behind 10,000 bytes."""
    segment = b"".join(
        struct.pack("<III", len(owner), 8, kind)
        + owner.ljust(-(-len(owner) // 4) * 4, b"\0")
        # What a note says is skipped.
        + b"\x2a" * 8
        for owner, kind in notes
    )
    body = bytes(range(250)) * 40
    header = bytearray(64)
    header[:4] = b"\x7fELF"
    struct.pack_into("<Q", header, 32, 64)
    struct.pack_into("<HH", header, 54, 56, 2)
    begin = 64 + 2 * 56
    loaded = struct.pack("<IIQQQQQQ", 1, 0, begin, 0, 0, len(body), 0, 0)
    noted = struct.pack("<IIQQQQQQ", 4, 0, begin + len(body), 0, 0, len(segment), 0, 0)
    return bytes(header) + loaded + noted + body + segment


def image(payload: bytes) -> bytes:
    """A bzImage of setup sectors, another program, and the payload."""
    setup = bytearray((_SETUP_SECTORS + 1) * 512)
    setup[0x1F1] = _SETUP_SECTORS
    setup[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", setup, 0x248, 100, len(payload))
    return bytes(setup) + b"\xcc" * 100 + payload + b"\xee" * 50


def with_size(compressed: bytes, plain: bytes) -> bytes:
    return compressed + struct.pack("<I", len(plain))


def lz4(plain: bytes, block: int = 8 << 20) -> bytes:
    """A legacy frame. Its blocks are compressed by the library, as by `lz4 -l`."""
    try:
        library = ctypes.CDLL("liblz4.so.1")
    except OSError:
        pytest.skip("liblz4 is not installed")
    frame = b"\x02\x21\x4c\x18"
    for at in range(0, len(plain), block):
        part = plain[at : at + block]
        room = ctypes.create_string_buffer(library.LZ4_compressBound(len(part)))
        size = library.LZ4_compress_default(part, room, len(part), len(room))
        frame += struct.pack("<I", size) + room.raw[:size]
    return frame


def written(folder: Path, content: bytes) -> bytes | None:
    """What is started of a kernel with this content, or None for that kernel itself."""
    kernel = folder / "vmlinuz"
    kernel.write_bytes(content)
    (folder / "vmlinux").unlink(missing_ok=True)
    found = plain_kernel.beside(kernel)
    assert plain_kernel.beside(kernel) == found
    assert kernel.read_bytes() == content
    return None if found == kernel else found.read_bytes()


PLAIN = elf([(b"GNU\0", 3), (b"Linux\0", 257), _ENTRY])


def test_a_kernel_of_xz_is_decompressed(tmp_path: Path) -> None:
    packed = lzma.compress(PLAIN, filters=[{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2}])
    assert written(tmp_path, image(with_size(packed, PLAIN))) == PLAIN
    assert written(tmp_path, image(with_size(packed[:-20], PLAIN))) is None


@pytest.mark.parametrize("block", [8 << 20, 3000])
def test_a_kernel_of_lz4_is_decompressed_block_by_block(tmp_path: Path, block: int) -> None:
    assert written(tmp_path, image(with_size(lz4(PLAIN, block), PLAIN))) == PLAIN


@pytest.mark.parametrize("notes", [[], [(b"Xen\0", 6), (b"GNU\0", 18)], [(b"XenX\0", 18)]], ids=str)
def test_a_kernel_that_does_not_say_where_it_begins_stays_compressed(
    tmp_path: Path, notes: list[tuple[bytes, int]]
) -> None:
    plain = elf(notes)
    assert written(tmp_path, image(with_size(lzma.compress(plain), plain))) is None


def test_what_is_compressed_otherwise_stays_as_it_is(tmp_path: Path) -> None:
    assert written(tmp_path, image(with_size(gzip.compress(PLAIN), PLAIN))) is None
    assert written(tmp_path, PLAIN) is None
    assert written(tmp_path, b"") is None


@pytest.mark.parametrize("pack", [lzma.compress, lz4])
@given(at=st.integers(0, 5000), change=st.integers(1, 255), cut=st.integers(0, 5000))
def test_a_broken_kernel_is_no_error(
    tmp_path_factory: pytest.TempPathFactory, pack: object, at: int, change: int, cut: int
) -> None:
    assert callable(pack)
    content = bytearray(image(with_size(pack(PLAIN), PLAIN)))
    content[at % len(content)] ^= change
    written(tmp_path_factory.mktemp("kernel"), bytes(content[: len(content) - cut % len(content)]))
