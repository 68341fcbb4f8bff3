"""Runs BLAST over generated sequences, with queries that each contain a piece of one.

Each query consists of random bases except for one segment, a piece of a database sequence with some
bases substituted. It is therefore known what BLAST must find, and where.
"""

from __future__ import annotations

import hashlib
import random
import re
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from aferir.programs.stores.inside.cpu import of_ended
from aferir.programs.stores.inside.outcome import FailedError, Figures, WrongError
from aferir.programs.stores.inside.workplace import Workplace

PROGRAM = "blast"
SEQUENCE_BASES = 100_000
PLANTED_BASES = 500
_EDGE = 30
"""Number of bases at each end that an alignment may lack, as BLAST drops those near a substitution.
"""
_STEP = re.compile(r"(\d+)|([A-Z-])([A-Z-])")
"""Matches one step of an alignment's trace: a number of equal bases, two that differ, or a gap."""
_BASES = bytes(b"ACGT"[byte & 3] for byte in range(256))
_FIELDS = "qseqid sseqid qstart sstart btop"
_EVALUE = "1e-20"
"""Largest e-value of a hit: it is far below those of random sequences of this size, so that no hit
is by chance.
"""


@dataclass(frozen=True)
class Planted:
    """Place where a query resembles the database; both starts are counted from 0."""

    query: str
    sequence: str
    query_start: int
    sequence_start: int


def arguments(parser: ArgumentParser) -> None:
    """Declare the options of this program."""
    parser.add_argument("--database-bases", type=int, required=True)
    parser.add_argument("--queries", type=int, required=True)
    parser.add_argument("--query-bases", type=int, required=True)
    parser.add_argument("--mutated", type=float, required=True)
    parser.add_argument("--instances", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)


def run(given: Namespace, place: Workplace) -> Figures:
    """Create the data, search, and check the hits. Errors: FailedError, WrongError."""
    clock = time.perf_counter()
    planted, digest = make_data(given, place.folder)
    place.run(
        [
            *("makeblastdb", "-dbtype", "nucl", "-in", "database.fa", "-out", "database"),
            "-parse_seqids",
        ]
    )
    _check_database(place, given.database_bases)
    setup_s = time.perf_counter() - clock
    clock, used = time.perf_counter(), of_ended()
    searches = [
        place.start(_search(number, given.threads), name=f"blastn-{number}")
        for number in range(given.instances)
    ]
    for search in searches:
        search.wait()
    duration_s, cpu = time.perf_counter() - clock, of_ended() - used
    hits = "".join(_hits(place.folder, number) for number in range(given.instances))
    check_hits(hits, planted)
    read = sum(path.stat().st_size for path in place.folder.glob("database.n*"))
    queries = sum(path.stat().st_size for path in place.folder.glob("queries-*.fa"))
    return Figures(
        duration_s=duration_s,
        requests=len(planted),
        bytes_read=read * given.instances + queries,
        bytes_written=len(hits),
        setup_s=setup_s,
        cpu=cpu,
        others={"data_hash": digest},
    )


def make_data(given: Namespace, folder: Path) -> tuple[list[Planted], str]:
    """Write database and queries as FASTA files; returns what is planted, and a digest."""
    chance = random.Random(given.seed)  # noqa: S311 - the same data from the same seed
    digest = hashlib.sha256()
    sequences = []
    with (folder / "database.fa").open("wb") as file:
        for number, size in enumerate(sizes(given.database_bases)):
            sequences.append(chance.randbytes(size).translate(_BASES))
            digest.update(sequences[-1])
            file.write(b">s%d\n%s\n" % (number, sequences[-1]))
    planted = []
    for instance in range(given.instances):
        with (folder / f"queries-{instance}.fa").open("wb") as file:
            for number in range(given.queries):
                name = f"q{instance}-{number}"
                text, one = plant(name, sequences, chance, given.query_bases, given.mutated)
                planted.append(one)
                digest.update(text)
                file.write(b">%s\n%s\n" % (name.encode(), text))
    return planted, digest.hexdigest()


def sizes(bases: int) -> Iterable[int]:
    """Sequence lengths: 100,000 bases each; a short rest is added to the last one."""
    whole, rest = divmod(bases, SEQUENCE_BASES)
    if rest < PLANTED_BASES and whole > 0:
        return [SEQUENCE_BASES] * (whole - 1) + [SEQUENCE_BASES + rest]
    return [SEQUENCE_BASES] * whole + [rest]


def plant(
    name: str, sequences: list[bytes], chance: random.Random, bases: int, mutated: float
) -> tuple[bytes, Planted]:
    """Make a query of `bases` bases; planted ones are substituted with probability `mutated`."""
    number = chance.randrange(len(sequences))
    start = chance.randrange(len(sequences[number]) - PLANTED_BASES + 1)
    at = chance.randrange(bases - PLANTED_BASES + 1)
    piece = bytearray(sequences[number][start : start + PLANTED_BASES])
    for place, base in enumerate(piece):
        if chance.random() < mutated:
            piece[place] = chance.choice(b"ACGT".replace(bytes([base]), b""))
    text = bytearray(chance.randbytes(bases).translate(_BASES))
    text[at : at + PLANTED_BASES] = piece
    return bytes(text), Planted(name, f"s{number}", at, start)


def check_hits(hits: str, planted: list[Planted]) -> None:
    """Check that every planted piece is found at its place. Errors: WrongError otherwise."""
    found: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
    for line in hits.splitlines():
        query, sequence, first, start, trace = line.split()
        found.setdefault((query, sequence), []).append((int(first) - 1, int(start) - 1, trace))
    for one in planted:
        if not any(_matches(one, *hit) for hit in found.get((one.query, one.sequence), [])):
            raise WrongError(
                f"BLAST did not find {one.query} at base {one.sequence_start} of {one.sequence}"
            )


def _matches(one: Planted, query: int, sequence: int, trace: str) -> bool:
    """Whether nearly all planted bases are aligned with the bases that they were copied from.

    At either end an alignment may extend beyond the planted piece by chance, sometimes over gaps.
    Near substitutions it may have gaps, so that a few bases are shifted.
    """
    planted = range(one.query_start, one.query_start + PLANTED_BASES)
    shift = one.sequence_start - one.query_start
    right = 0
    for equal, in_query, in_sequence in _STEP.findall(trace):
        length = int(equal) if equal else 1
        if "-" not in (in_query, in_sequence) and sequence - query == shift:
            inside = range(max(query, planted.start), min(query + length, planted.stop))
            right += len(inside)
        query += 0 if in_query == "-" else length
        sequence += 0 if in_sequence == "-" else length
    return right >= PLANTED_BASES - 2 * _EDGE


def _search(number: int, threads: int) -> list[str]:
    return [
        *("blastn", "-task", "blastn", "-db", "database", "-query", f"queries-{number}.fa"),
        *("-evalue", _EVALUE, "-outfmt", f"6 {_FIELDS}", "-out", f"hits-{number}"),
        *("-strand", "plus", "-num_threads", str(threads)),
    ]


def _hits(folder: Path, number: int) -> str:
    return (folder / f"hits-{number}").read_text(encoding="ascii")


def _check_database(place: Workplace, bases: int) -> None:
    said = place.run(["blastdbcmd", "-db", "database", "-info"])
    found = re.search(r"([\d,]+) sequences; ([\d,]+) total bases", said)
    if found is None or int(found[2].replace(",", "")) != bases:
        raise FailedError(f"makeblastdb made no database of {bases} bases")
