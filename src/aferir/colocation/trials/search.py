"""A search engine as a service, with an index of real text that is built once and cached."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from aferir.colocation.trials import corpus, texts
from aferir.colocation.trials.search_engine import ENGINES, Engine, ask, started, unpack
from aferir.colocation.trials.service import LOOPBACK, Running
from aferir.errors import MissingError
from aferir.linux import journal
from aferir.programs.stores import jars

_QUESTIONS = 400
_PASSAGES_ASKED = 4000
"""Number of passages from which the words of queries are drawn."""
_BULK_BYTES = 2 << 20
_WARM_UPS = 3
_JAVA = (r"\[search\]", r"\[(transport|http_server|transport_server)_worker")
"""Regular expressions for the names of threads that search, read requests, or write responses."""
_ABOUT = "about.json"


class _About(msgspec.Struct, frozen=True):
    """Description of a cached index, to detect that its sources have changed."""

    made_of: str
    text_bytes: int
    questions: tuple[tuple[str, ...], ...]


@contextmanager
def running(name: str, folder: Path, text_bytes: int) -> Iterator[Running]:
    """Start a search engine; it is ended afterwards. Errors: MissingError, ProgramError."""
    engine = ENGINES[name]
    index = _index(engine, folder, text_bytes)
    about = msgspec.json.decode((index / _ABOUT).read_bytes(), type=_About)
    home, data = unpack(engine, folder), folder / "data"
    shutil.copytree(index / "data", data)
    with started(engine, home, data) as it:
        paths = [
            f"/texts/_search?q=body:({'+'.join(words)})&_source=false&size=10"
            for words in about.questions
        ]
        for path in paths * _WARM_UPS:  # until Java has compiled what it needs
            ask(it.port, "GET", path)
        yield Running(
            pid=it.pid,
            latency=f"slowlog:{it.slow_log}",
            java=_JAVA,
            targets=tuple((1.0, f"http://{LOOPBACK}:{it.port}{path}") for path in paths),
            text_bytes=about.text_bytes,
        )


def _index(engine: Engine, folder: Path, text_bytes: int) -> Path:
    """Folder of the cached index, which is built if it is absent or the texts have changed."""
    paths = corpus.files(texts.folders())
    made_of = f"{jars.find(engine.name).stem} {corpus.fingerprint(paths)}"
    kept = journal.cache_folder() / "search" / f"{engine.name}-{text_bytes}"
    about = kept / _ABOUT
    if about.exists():
        if msgspec.json.decode(about.read_bytes(), type=_About).made_of == made_of:
            return kept
        shutil.rmtree(kept)
    (new := folder / "index").mkdir()
    passages = corpus.passages(paths, text_bytes)
    first = list(itertools.islice(passages, _PASSAGES_ASKED))
    if not first:
        raise MissingError(
            "there are no manual pages and no documentation to search in",
            remedy="run `aferir fetch texts`",
        )
    home = unpack(engine, folder / "builder")
    with started(engine, home, new / "data") as it:
        total = _fill(engine, it.port, itertools.chain(first, passages))
    questions = tuple(corpus.questions(first, _QUESTIONS, seed=1))
    (new / _ABOUT).write_bytes(msgspec.json.encode(_About(made_of, total, questions)))
    kept.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(home)
    half = kept.with_suffix(".new")
    shutil.rmtree(half, ignore_errors=True)
    shutil.move(new, half)
    half.rename(kept)
    return kept


def _fill(engine: Engine, port: int, passages: Iterator[corpus.Passage]) -> int:
    """Fill the index, in one shard with one segment; returns the bytes of text."""
    settings = {
        "number_of_shards": 1,
        "number_of_replicas": 0,
        "refresh_interval": -1,
        # Every search is in the log, which is where the monitor of Oliveira 2022 reads.
        "search.slowlog.threshold.query.warn": "0ms",
    }
    ask(port, "PUT", "/texts", json.dumps({"settings": {"index": settings}}))
    total, lines, size = 0, list[str](), 0
    for passage in passages:
        total += len(passage.body.encode())
        lines += ['{"index":{}}', json.dumps({"name": passage.name, "body": passage.body})]
        size += len(lines[-1])
        if size >= _BULK_BYTES:
            _put(engine, port, lines)
            lines, size = [], 0
    if lines:
        _put(engine, port, lines)
    for step in ("_refresh", "_forcemerge?max_num_segments=1", "_flush"):
        ask(port, "POST", f"/texts/{step}")
    return total


def _put(engine: Engine, port: int, lines: list[str]) -> None:
    ask(port, "POST", engine.documents, "\n".join(lines) + "\n")
