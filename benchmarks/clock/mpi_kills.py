"""Kill MPI jobs on two hosts at random moments, and at once start others with the same name.

The hosts are network namespaces. They share CLOCK_MONOTONIC_RAW and the memory in which ranks of
one host find one another, and differ in their host names. Each rank judges its time by that clock
(native/tests/mpi/program.c). The job that is started must show the right time, within the error
that the library states, or fail with a message.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Literal

import msgspec

from aferir.errors import AferirError
from aferir.linux import process, undo, wait
from aferir.linux.namespace import Star, star
from aferir.linux.undo import MARK
from aferir.model.bench import Figure
from aferir.programs import mpi as launching
from aferir.programs.mpi import MPIS, Mpi
from aferir.selftest.options import BenchOptions, Note
from benchmarks.clock.mpi import REPORT, across, write_agent

Victim = Literal["rank", "ranks", "launcher", "all"]
Outcome = Literal["right", "error", "wrong", "hung", "launcher"]
"""Outcome of a job; if it does not end: `hung` if ranks are left, `launcher` if only its launcher
is.
"""

_HOSTS = 2
_KILLS, _QUICK_KILLS = 100, 8
"""Killed jobs of each MPI."""
_ROUNDS = 20
_JOB = "one-name"
_LIMIT_S = 60.0
"""Time in s within which a job has to end; it takes 1 to 3 s."""
_COMPILE_LIMIT_S = 120.0
_SOURCE = Path(__file__).parents[2] / "native/tests/mpi/program.c"
_LAUNCHERS = re.compile(r"mpirun|mpiexec|orted|hydra")
_SAID = re.compile(
    r"spread_ns (?P<spread>-?\d+) known_ns (?P<known>-?\d+) "
    r"order_ns (?P<order>-?\d+) passed_ns (?P<passed>-?\d+)"
)
_VICTIMS: tuple[Victim, ...] = ("rank", "ranks", "launcher", "all")


class Job(msgspec.Struct, frozen=True):
    """A job under way, with the files that it writes to."""

    child: subprocess.Popen[str]
    out: IO[str]
    err: IO[str]
    before: frozenset[int]
    """Ranks that were running before this job: those of a killed job."""


class Lab(msgspec.Struct, frozen=True):
    """Program, folders and command from which jobs of one MPI are started."""

    mpi: Mpi
    hosts: Star
    command: tuple[str, ...]
    """Command of a job without the program."""
    program: Path


def measure_kills(options: BenchOptions, note: Note) -> list[Figure]:
    """Return the figures of both MPIs; one that cannot be tried here has no value and says why."""
    if os.geteuid() != 0:
        return [_unmeasured(mpi, "network namespaces need root: run it as root") for mpi in MPIS]
    count = _QUICK_KILLS if options.quick else _KILLS
    figures: list[Figure] = []
    for place, mpi in enumerate(MPIS):

        def within(text: str, share: float, place: int = place) -> None:
            note(text, (place + share) / len(MPIS))

        try:
            with star(_HOSTS) as hosts, tempfile.TemporaryDirectory(prefix="aferir-") as folder:
                lab = _lab(mpi, hosts, Path(folder))
                figures += judge(mpi, _trials(lab, count, options.seed, within))
        except AferirError as error:
            figures.append(_unmeasured(mpi, error.message))
    return figures


def _unmeasured(mpi: Mpi, why: str) -> Figure:
    return Figure(name=f"mpi.killed.{mpi}.right_or_error", value=None, unit="jobs", n=0, note=why)


def _lab(mpi: Mpi, hosts: Star, folder: Path) -> Lab:
    program = folder / "program"
    compiler = [f"mpicc.{mpi}", "-O2", "-Wno-deprecated-declarations", "-pthread"]
    process.run([*compiler, str(_SOURCE), "-o", str(program)], timeout_s=_COMPILE_LIMIT_S)
    agent = write_agent(hosts)
    launcher = launching.find_launcher(mpi).path
    variables = launching.preloaded(launching.find_library(mpi), report=True)
    variables["AFERIR_MPI_JOB"] = _JOB
    start = across(hosts, agent, launcher, _HOSTS)
    if mpi == "mpich":
        addresses = ",".join(host.address for host in hosts.hosts)
        variables |= {"UCX_TLS": "tcp,self", "MPIR_CVAR_NOLOCAL": "1"}
        start = [
            *(str(agent), hosts.hosts[0].address, launcher, "-launcher", "ssh"),
            *("-launcher-exec", str(agent), "-iface", hosts.interface),
            *("-hosts", addresses, "-n", str(_HOSTS)),
        ]
    return Lab(mpi, hosts, (*start, *launching.variable_options(mpi, variables)), program)


def _trials(lab: Lab, count: int, seed: int, note: Note) -> list[tuple[Victim, Outcome]]:
    draw = random.Random(seed)  # noqa: S311 - not cryptography
    clock = time.perf_counter()
    first = _end(lab, _start(lab))
    whole_s = time.perf_counter() - clock
    if first != "right":
        raise AferirError(f"a job of {lab.mpi} that nobody killed: {first}")
    found: list[tuple[Victim, Outcome]] = []
    for number in range(count):
        victim = _VICTIMS[number % len(_VICTIMS)]
        note(f"{lab.mpi}, kill {number + 1}: {victim}", number / count)
        killed = _start(lab)
        time.sleep(draw.uniform(0, whole_s))
        kill(victim, lab.hosts.mark, draw)
        found.append((victim, _end(lab, _start(lab))))
        undo.kill_marked(lab.hosts.mark)
        _close(killed)
    return found


def kill(victim: Victim, mark: str, draw: random.Random) -> None:
    """Send SIGKILL to the chosen processes of the job that `mark` identifies."""
    ranks = _ranks(mark)
    launchers = undo.processes(lambda words, names: names.get(MARK) == mark and _launches(words))
    numbers = {
        "rank": draw.sample(ranks, min(1, len(ranks))),
        "ranks": ranks,
        "launcher": launchers[:1],
        "all": [*ranks, *launchers],
    }[victim]
    for number in numbers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def _ranks(mark: str) -> list[int]:
    return undo.processes(lambda words, names: names.get(MARK) == mark and _is_rank(words))


def _is_rank(words: Sequence[str]) -> bool:
    return bool(words) and Path(words[0]).name == "program"


def _launches(words: Sequence[str]) -> bool:
    return bool(words) and _LAUNCHERS.match(Path(words[0]).name) is not None


def _start(lab: Lab) -> Job:
    out = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
    err = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
    before = frozenset(_ranks(lab.hosts.mark))
    child = process.start(
        [*lab.command, str(lab.program), str(_ROUNDS), "--hosts-may-hang"],
        stdout=out.fileno(),
        stderr=err.fileno(),
        environment={MARK: lab.hosts.mark},
    )
    return Job(child, out, err, before)


def _close(job: Job) -> None:
    process.end(job.child)
    job.out.close()
    job.err.close()


def _end(lab: Lab, job: Job) -> Outcome:
    """Wait for a job and judge it; one that does not end is killed."""
    ended = wait.until(lambda: job.child.poll() is not None, wait.after(_LIMIT_S), period_s=0.01)
    left = set(_ranks(lab.hosts.mark)) - job.before
    undo.kill_marked(lab.hosts.mark)
    code = job.child.wait()
    texts = []
    for file in (job.out, job.err):
        file.seek(0)
        texts.append(file.read())
    _close(job)
    if not ended:
        return "hung" if left else "launcher"
    return outcome(code, *texts)


def outcome(code: int, out: str, err: str) -> Outcome:
    """Judge a job that has ended by what its ranks and the library printed.

    It is right if every rank accepts its time and the hosts' times agree: within twice the largest
    error that the library states, which grows with that of the rates, and within the error of the
    comparison itself.
    """
    if code != 0:
        return "error" if err.strip() else "wrong"
    said = _SAID.search(out)
    # mpirun may join the lines of two ranks, or prefix one with a library's warning.
    reports = []
    for part in err.split(REPORT)[1:]:
        with contextlib.suppress(ValueError):
            reports.append(json.JSONDecoder().raw_decode(part)[0])
    looked = [report for report in reports if "doubt_ns" in report]
    if said is None or len(looked) != _HOSTS or out.count("verdict 0") != _HOSTS:
        return "wrong"
    doubt = max(report["doubt_ns"] for report in looked)
    rate = max(report["rate_doubt_ppb"] for report in looked)
    allowed = 2 * (doubt + rate * 1e-9 * int(said["passed"]))
    agrees = int(said["spread"]) <= int(said["known"]) + allowed and int(said["order"]) >= -allowed
    is_whole = all(report["hosts"] == _HOSTS and report["global"] for report in looked)
    return "right" if agrees and is_whole else "wrong"


def judge(mpi: Mpi, trials: Sequence[tuple[Victim, Outcome]]) -> list[Figure]:
    """Count jobs that were right or failed with a message, except those with a hung launcher."""
    counts = Counter(found for _, found in trials)
    bad = [f"{victim}: {found}" for victim, found in trials if found in {"wrong", "hung"}]
    judged = len(trials) - counts["launcher"]
    good = counts["right"] + counts["error"]
    return [
        Figure(
            name=f"mpi.killed.{mpi}.right_or_error",
            value=float(good),
            unit="jobs",
            n=judged,
            target=f"== {judged}",
            holds=good == judged and judged > 0,
            note=f"{counts['right']} right, {counts['error']} failed with a message"
            + (f"; after the kill of {'; '.join(bad)}" if bad else ""),
        ),
        Figure(
            name=f"mpi.killed.{mpi}.launcher_hung",
            value=float(counts["launcher"]),
            unit="jobs",
            n=len(trials),
            note="all ranks had ended and their launcher had not: no doing of the library",
        ),
    ]
