"""OVA files: a tar with the descriptor first, the manifest second, the images after them.

Source: DMTF DSP0243 1.1.0, clauses 5.1 and 5.2; digests are SHA-256, as OVF 2 allows.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from aferir.cluster import ovf, pieces
from aferir.cluster.ovf import Package
from aferir.errors import UsageError

_LINE = re.compile(r"\ufeff?\s*([A-Za-z0-9/_-]{1,20})\s*\((.+)\)\s*=\s*([0-9a-fA-F]+)\s*")
_ALGORITHMS = {"sha1": "sha1", "sha256": "sha256", "sha384": "sha384", "sha512": "sha512"}
_ALGORITHMS |= {f"sha2{bits}": f"sha{bits}" for bits in (256, 384, 512)}
"""Digest algorithms by their names without punctuation: openssl 3 calls SHA256 `SHA2-256`."""
_CHUNK = 1 << 20
_SUMS = ("sha1", "sha256", "sha384", "sha512")
_MOST_DESCRIPTOR_BYTES = 16 << 20
_NAME = re.compile(r"[^/\x00-\x1f]{1,100}")


def pack(target: Path, name: str, package: Package, files: Sequence[Path]) -> None:
    """Write an OVA of the package's descriptor and `files`, each under its own name."""
    descriptor = ovf.write(package).encode()
    lines = [f"SHA256({name}.ovf)= {hashlib.sha256(descriptor).hexdigest()}"]
    lines += [f"SHA256({path.name})= {_digest(path, 'sha256')}" for path in files]
    manifest = "".join(f"{line}\n" for line in lines).encode()
    with tarfile.open(target, "x", format=tarfile.USTAR_FORMAT) as tar:
        for file, content in ((f"{name}.ovf", descriptor), (f"{name}.mf", manifest)):
            member = tarfile.TarInfo(file)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for path in files:
            member = tarfile.TarInfo(path.name)
            member.size = path.stat().st_size
            with path.open("rb") as stream:
                tar.addfile(member, stream)


def unpack(source: Path, folder: Path) -> Package:
    """Verify an OVA and extract it into an existing folder; returns its descriptor.

    Errors: UsageError, with the reason, if it is truncated, was changed, or is no OVA.
    """
    try:
        with source.open("rb") as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            digests = _extract(tar, folder)
    except OSError as error:
        told = f"{source} cannot be read: {error.strerror or error}"
        raise UsageError(told, remedy="name a file that `aferir cluster save` wrote") from None
    except tarfile.ReadError as error:
        raise UsageError(f"{source} is no OVA, or was truncated: {error}") from None
    names = list(digests)
    described = [name for name in names if name.lower().endswith(".ovf")]
    if len(described) != 1:
        raise UsageError(
            f"{source} is no OVA: it holds {len(described)} descriptors (.ovf), not one"
        )
    package = ovf.read((folder / described[0]).read_bytes())
    _check_references(package, folder, names)
    manifests = [name for name in names if name.lower().endswith(".mf")]
    if manifests:
        check_manifest((folder / manifests[0]).read_bytes(), digests, manifests[0])
    elif package.properties:
        raise UsageError(f"{source} has lost its manifest (.mf)")
    for file in package.files:
        pieces.join(file, folder)
    return package


def check_manifest(content: bytes, digests: Mapping[str, Mapping[str, str]], name: str) -> None:
    """Compare the digests of every file except the manifest itself and a certificate.

    Errors: UsageError for the first file that was changed, or that the manifest does not list.
    """
    wanted = parse_manifest(content)
    for file, found in digests.items():
        if file == name or file.endswith(".cert"):
            continue
        if file not in wanted:
            raise UsageError(f"{file} is not in the manifest: the package was tampered with")
        algorithm, digest = wanted[file]
        if found[algorithm] != digest:
            raise UsageError(f"{file} is not what the manifest says: it was changed or damaged")
    if missing := sorted(set(wanted) - set(digests)):
        raise UsageError(f"{missing[0]} is in the manifest and not in the package: it is truncated")


def parse_manifest(content: bytes) -> dict[str, tuple[str, str]]:
    """Digest algorithm and digest by file name. Errors: UsageError if a line cannot be parsed."""
    found: dict[str, tuple[str, str]] = {}
    for line in content.decode("utf-8", "replace").splitlines():
        if not line.strip():
            continue
        words = _LINE.fullmatch(line)
        if words is None:
            raise UsageError(f"a line of the manifest cannot be read: {line[:80]!r}")
        algorithm = _ALGORITHMS.get(re.sub(r"[^a-z0-9]", "", words[1].lower()))
        if algorithm is None:
            raise UsageError(
                f"the manifest has digests of {words[1]}, which OVF has not",
                remedy="make it with SHA256: openssl sha256 FILES > PACKAGE.mf",
            )
        found[words[2].removeprefix("./")] = (algorithm, words[3].lower())
    return found


def _extract(tar: tarfile.TarFile, folder: Path) -> dict[str, dict[str, str]]:
    """Extract all files; returns their digests by name, in the order of the archive."""
    digests: dict[str, dict[str, str]] = {}
    for member in tar:
        name = member.name.removeprefix("./")
        if member.isdir() and name in ("", "."):
            continue
        if not member.isreg() or not _NAME.fullmatch(name) or name in (".", ".."):
            raise UsageError(f"the package holds `{name}`, which is no plain file in one folder")
        if name in digests:
            raise UsageError(f"the package holds {name} twice: it was tampered with")
        stream = tar.extractfile(member)
        assert stream is not None
        if name.lower().endswith((".ovf", ".mf")) and member.size > _MOST_DESCRIPTOR_BYTES:
            raise UsageError(f"{name} is larger than any descriptor or manifest")
        with (folder / name).open("xb") as copy:
            digests[name] = _copy(stream, copy, member.size, name)
    return digests


def _copy(stream: IO[bytes], copy: IO[bytes], size: int, name: str) -> dict[str, str]:
    sums = {word: hashlib.new(word, usedforsecurity=False) for word in _SUMS}
    left = size
    while left > 0:
        part = stream.read(min(_CHUNK, left))
        if not part:
            raise UsageError(f"the package was truncated: it ends within {name}")
        for one in sums.values():
            one.update(part)
        copy.write(part)
        left -= len(part)
    return {word: one.hexdigest() for word, one in sums.items()}


def _check_references(package: Package, folder: Path, names: Sequence[str]) -> None:
    for file in package.files:
        parts = pieces.names(file, names)
        size = sum((folder / name).stat().st_size for name in parts)
        if file.size not in (-1, size) and not file.is_compressed:  # some tell the size unpacked
            raise UsageError(f"{file.href} has {size} bytes instead of {file.size}")
    known = {file.id for file in package.files}
    for disk in package.disks:
        if disk.file not in known:
            raise UsageError(f"the disk {disk.id} of the package has no file")


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()
