"""Reads passages of real text from manual pages and documentation, installed or fetched."""

from __future__ import annotations

import gzip
import hashlib
import random
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

_ROOTS = tuple(
    Path("/usr/share", name) for name in ("man", "doc", "info", "perl", "common-licenses")
)
_PASSAGE = 4096
_LONGEST_FILE = 4 << 20
"""Largest number of bytes read from one file (4 MiB), so that no file outweighs the others."""
_MANUAL = re.compile(r"\.\d\w*(\.gz)?$")
_MACRO = re.compile(r"^[.'][ \t]*(?:\\\"[^\n]*|[A-Za-z]{1,3}\b)", re.MULTILINE)
_ESCAPE = re.compile(r"\\(?:f(?:\(..|\[\w*\]|.)|\(..|\[[^\]]*\]|.)")
_TAG = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"\b[a-z]{4,20}\b")
_WORDS_A_QUESTION = (2, 4)


class Passage(msgspec.Struct, frozen=True):
    """A passage of a text, and the file it is from."""

    name: str
    body: str


def files(more: Iterable[Path] = ()) -> list[Path]:
    """All files, shuffled in an order that depends on nothing but the files.

    `more`: folders to search besides those of installed packages.
    """
    found = sorted(path for root in (*_ROOTS, *more) for path in root.rglob("*") if _is_text(path))
    random.Random(1).shuffle(found)  # noqa: S311 - not cryptography
    return found


def fingerprint(paths: Iterable[Path]) -> str:
    """A hash of the files' paths and sizes."""
    told = "".join(f"{path} {path.stat().st_size}\n" for path in paths)
    return hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def passages(paths: Iterable[Path], most_bytes: int) -> Iterator[Passage]:
    """Passages of about 4 KB each, up to `most_bytes` or the end of the texts."""
    total = 0
    for path in paths:
        for number, body in enumerate(_cut(plain(path.name, _content(path)))):
            if total >= most_bytes:
                return
            total += len(body.encode())
            yield Passage(f"{path}#{number}", body)


def plain(name: str, content: bytes) -> str:
    """Text without the markup of manual pages and HTML; "" if the content is binary."""
    if b"\0" in content:
        return ""
    text = content.decode("utf-8", "replace")
    if _MANUAL.search(name):
        return _ESCAPE.sub("", _MACRO.sub("", text))
    return _TAG.sub(" ", text) if name.removesuffix(".gz").endswith((".html", ".htm")) else text


def questions(texts: Iterable[Passage], count: int, seed: int) -> list[tuple[str, ...]]:
    """Queries of 2 to 4 words, drawn by their frequency in the texts."""
    words = [word for text in texts for word in _WORD.findall(text.body)]
    draw = random.Random(seed)  # noqa: S311 - not cryptography
    return [tuple(draw.choices(words, k=draw.randint(*_WORDS_A_QUESTION))) for _ in range(count)]


def _is_text(path: Path) -> bool:
    suffix = path.name.removesuffix(".gz").rpartition(".")[2].lower()
    return suffix not in ("png", "gif", "jpg", "jpeg", "pdf", "svg", "js") and path.is_file()


def _content(path: Path) -> bytes:
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                return file.read(_LONGEST_FILE)
        with path.open("rb") as file:
            return file.read(_LONGEST_FILE)
    except (OSError, EOFError, zlib.error):
        return b""


def _cut(text: str) -> Iterator[str]:
    """Cut a text into pieces, at ends of paragraphs if these are close enough together."""
    while text := text.lstrip():
        end = text.rfind("\n\n", _PASSAGE // 2, _PASSAGE) if len(text) > _PASSAGE else -1
        end = end if end > 0 else _PASSAGE
        yield text[:end]
        text = text[end:]
