"""Measure how well MPI_Wtime agrees among all ranks: on one host, and on hosts that are namespaces.

These hosts share one clock, so every offset is an error. Our method and HCA3 (Hunold and
Carpen-Amarie, "Hierarchical Clock Synchronization in MPI", CLUSTER 2018; offsets only, 20 exchanges
each) take turns in one job.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import msgspec

from aferir.errors import AferirError, MissingError, ProgramError
from aferir.installed import installed
from aferir.linux import process
from aferir.linux.namespace import Star, star
from aferir.linux.undo import MARK
from aferir.model.bench import Figure
from aferir.programs import mpi as launching
from aferir.programs.kernels import kernel_path
from aferir.programs.mpi import MPIS, Mpi
from aferir.selftest.options import BenchOptions, Note

PROGRAM = "aferir-mpi-bench"
ADDED_S = 0.3e-3
OURS, RIVAL = "aferir", "hca3-offset-20"

_RANKS: Mapping[int, int] = {2: 11, 8: 11, 32: 11}
"""Number of jobs by number of ranks."""
_QUICK_RANKS: Mapping[int, int] = {2: 3}
_HOSTS = (4, 8)
_JOBS, _QUICK_JOBS = 5, 1
_ROUNDS, _QUICK_ROUNDS = 100, 20
_TIME_LIMIT_S = 120.0
_FORTRAN = ("program_mpif.f", "program_mpi.f90", "program_f08.f90")
REPORT = "aferir-mpi: "
"""Prefix of what the library reports, a JSON object."""


class OneHost(msgspec.Struct, frozen=True):
    """Figures of one job on one host."""

    ranks: int
    added_cpu_s: float
    """CPU time in s that our library adds to MPI_Init, on the rank with the largest addition."""
    added_s: float
    """Wall time in seconds that MPI_Init takes longer on the slowest rank, waits for a core
    included.
    """
    added_median_s: float
    spread_s: float
    """Largest difference in seconds between the ranks' MPI_Wtime at one moment."""
    read_s: float
    is_global: bool


class Method(msgspec.Struct, frozen=True):
    """Figures of one method of synchronising hosts, over the rounds of a job."""

    method: str
    n: int
    duration_median_us: float
    error_median_ns: float
    outside_doubt: int = 0


def measure_mpi(options: BenchOptions, note: Note) -> list[Figure]:
    """Return all figures; one that cannot be measured here has no value and says why."""
    figures = []
    for place, mpi in enumerate(MPIS):
        note(f"MPI_Wtime, {mpi}", place / (len(MPIS) + 1))
        figures += _one_host(mpi, _QUICK_RANKS if options.quick else _RANKS)
        figures.append(_bindings(mpi))
    note("hosts in namespaces", len(MPIS) / (len(MPIS) + 1))
    jobs = _QUICK_JOBS if options.quick else _JOBS
    return figures + _hosts(jobs, _QUICK_ROUNDS if options.quick else _ROUNDS)


def parse_one_host(stdout: str, stderr: str) -> OneHost:
    """Parse the output of the program and the report of the library. Errors: ProgramError."""
    # mpirun may join the lines of two ranks, or prefix one with a library's warning.
    parts = stderr.split(REPORT)[1:]
    try:
        reports = [json.JSONDecoder().raw_decode(part)[0] for part in parts]
        added = [report["added_ns"] for report in reports]
        said = json.loads(stdout.strip().splitlines()[-1])
        return OneHost(
            ranks=said["ranks"],
            added_cpu_s=max(report["added_cpu_ns"] for report in reports) * 1e-9,
            added_s=max(added) * 1e-9,
            added_median_s=median(added) * 1e-9,
            spread_s=said["spread_ns"] * 1e-9,
            read_s=said["read_ns"] * 1e-9,
            is_global=said["global"],
        )
    except (ValueError, IndexError, KeyError) as error:
        raise ProgramError(f"{PROGRAM} printed no readable result ({error!r})") from None


def parse_methods(stdout: str) -> dict[str, Method]:
    """Parse the results of a job's methods, by name. Errors: ProgramError."""
    try:
        lines = [line for line in stdout.splitlines() if line.startswith("{")]
        found = {m.method: m for m in (msgspec.json.decode(line, type=Method) for line in lines)}
    except msgspec.MsgspecError as error:
        raise ProgramError(f"{PROGRAM} printed no readable result ({error})") from None
    if not {OURS, RIVAL} <= found.keys():
        raise ProgramError(f"{PROGRAM} printed no result of both methods")
    return found


def judge_one_host(mpi: str, jobs: Sequence[OneHost]) -> list[Figure]:
    """Judge what our library adds to MPI_Init, and how far the ranks of a host differ."""
    counts = sorted({job.ranks for job in jobs})
    medians = {c: median(job.added_s for job in jobs if job.ranks == c) for c in counts}
    typical = {c: median(job.added_median_s for job in jobs if job.ranks == c) for c in counts}
    work = {c: median(job.added_cpu_s for job in jobs if job.ranks == c) for c in counts}
    worst = max(medians.values())
    spread = max(job.spread_s for job in jobs)
    read = min(job.read_s for job in jobs)
    each = ", ".join(
        f"{1e6 * medians[c]:.0f} us with {c} ranks ({1e6 * typical[c]:.0f}; time of a core "
        f"{1e6 * work[c]:.0f})"
        for c in counts
    )
    return [
        Figure(
            name=f"mpi.added_to_init.{mpi}",
            value=worst,
            unit="s",
            n=len(jobs),
            target=f"<= {ADDED_S:g}",
            holds=worst <= ADDED_S,
            note=f"slowest rank (median rank; most of a core's time), median of jobs: {each}",
        ),
        Figure(
            name=f"mpi.error_on_one_host.{mpi}",
            value=spread,
            unit="s",
            n=len(jobs),
            target="< one read",
            holds=spread < read and all(job.is_global for job in jobs),
            note=f"largest of any job; a read takes {1e9 * read:.1f} ns",
        ),
    ]


def judge_hosts(hosts: int, jobs: Sequence[Mapping[str, Method]]) -> list[Figure]:
    """Judge time and error of our method over HCA3's: the median of the jobs' ratios."""
    outside = sum(job[OURS].outside_doubt for job in jobs)
    figures = []
    for name, unit, field in (
        ("duration", "us", "duration_median_us"),
        ("error", "ns", "error_median_ns"),
    ):
        pairs = [(getattr(job[OURS], field), getattr(job[RIVAL], field)) for job in jobs]
        value = median(ours / max(theirs, 1.0) for ours, theirs in pairs)
        ours, theirs = (median(pair[k] for pair in pairs) for k in (0, 1))
        figures.append(
            Figure(
                name=f"mpi.hosts_{hosts}.{name}_over_hca3",
                value=value,
                unit="ratio",
                n=len(jobs),
                target="<= 1",
                holds=value <= 1 and outside == 0,
                peer="HCA3, offsets only",
                note=f"{ours:.0f} {unit} over {theirs:.0f} {unit}, less is better; medians of "
                f"{jobs[0][OURS].n} rounds a job, {outside} outside their doubt",
            )
        )
    return figures


def _unmeasured(names: Sequence[str], why: str) -> list[Figure]:
    return [Figure(name=name, value=None, unit="s", n=0, note=why) for name in names]


def _one_host(mpi: Mpi, jobs: Mapping[int, int]) -> list[Figure]:
    try:
        found = [_job(mpi, ranks) for ranks, times in jobs.items() for _ in range(times)]
    except AferirError as error:
        names = [f"mpi.added_to_init.{mpi}", f"mpi.error_on_one_host.{mpi}"]
        return _unmeasured(names, error.message)
    return judge_one_host(mpi, found)


def _job(mpi: Mpi, ranks: int) -> OneHost:
    command = launching.launch(
        PROGRAM, ("wtime",), processes=ranks, mpi=mpi, preload=True, report=True
    )
    words = [str(command.program), *command.arguments]
    done = process.run(words, timeout_s=_TIME_LIMIT_S)
    return parse_one_host(done.stdout, done.stderr)


def _bindings(mpi: Mpi) -> Figure:
    """Count which of C, mpif.h, `use mpi` and `use mpi_f08` see global time."""
    name = f"mpi.bindings.{mpi}"
    try:
        seen = int(_job(mpi, 2).is_global)
        with tempfile.TemporaryDirectory(prefix="aferir-") as folder:
            seen += sum(_fortran(mpi, source, Path(folder)) for source in _FORTRAN)
    except AferirError as error:
        return _unmeasured([name], error.message)[0]
    target = f"== {1 + len(_FORTRAN)}"
    return Figure(
        name=name,
        value=float(seen),
        unit="count",
        n=1 + len(_FORTRAN),
        target=target,
        holds=seen == 1 + len(_FORTRAN),
        note="C, mpif.h, use mpi, use mpi_f08: programs that see MPI_WTIME_IS_GLOBAL",
    )


def _fortran(mpi: Mpi, name: str, folder: Path) -> bool:
    source = installed(f"mpi/{name}")
    if source is None or not source.exists():
        raise MissingError(f"{name} is not in this installation of aferir")
    program = folder / name.replace(".", "-")
    process.run([f"mpifort.{mpi}", str(source), "-o", str(program)], timeout_s=_TIME_LIMIT_S)
    launcher = launching.find_launcher(mpi)
    variables = launching.preloaded(launching.find_library(mpi), report=False)
    words = [
        launcher.path,
        *launching.placement_options(mpi, root=os.geteuid() == 0),
        *launching.variable_options(mpi, variables),
        *("-n", "2", str(program)),
    ]
    return process.run(words, timeout_s=_TIME_LIMIT_S, check=False).exit_code == 0


def _hosts(jobs: int, rounds: int) -> list[Figure]:
    """Run jobs of 4 and of 8 hosts in turn, over Open MPI's TCP."""
    names = [f"mpi.hosts_{n}.{what}_over_hca3" for n in _HOSTS for what in ("duration", "error")]
    if os.geteuid() != 0:
        return _unmeasured(names, "network namespaces need root: run it as root")
    found: dict[int, list[dict[str, Method]]] = {n: [] for n in _HOSTS}
    try:
        program = kernel_path(f"{PROGRAM}-openmpi")
        launcher = launching.find_launcher("openmpi")
        with star(max(_HOSTS)) as made:
            agent = write_agent(made)
            for _ in range(jobs):
                for n in _HOSTS:
                    words = across(made, agent, launcher.path, n)
                    work = [str(program), str(rounds), OURS, RIVAL]
                    done = process.run(
                        [*words, *work], environment={MARK: made.mark}, timeout_s=_TIME_LIMIT_S
                    )
                    found[n].append(parse_methods(done.stdout))
    except AferirError as error:
        return _unmeasured(names, error.message)
    return [figure for n in _HOSTS for figure in judge_hosts(n, found[n])]


def across(made: Star, agent: Path, mpirun: str, hosts: int) -> list[str]:
    """Return the command that starts one rank on each of the first hosts, over TCP.

    Ranks outnumber cores, so both methods run with `mpi_yield_when_idle`, which Open MPI would set
    itself if it could see that.
    """
    addresses = [host.address for host in made.hosts[:hosts]]
    settings = {
        "plm_rsh_agent": str(agent),
        "pml": "ob1",
        "btl": "tcp,self",
        "btl_tcp_if_include": made.interface,
        "oob_tcp_if_include": made.interface,
        "mpi_yield_when_idle": "1",
    }
    return [
        *(str(agent), addresses[0], mpirun),
        *launching.placement_options("openmpi", root=True),
        *(word for name, value in settings.items() for word in ("--mca", name, value)),
        *("--host", ",".join(f"{address}:1" for address in addresses), "-n", str(hosts)),
    ]


def write_agent(made: Star) -> Path:
    """Write the script that an MPI calls instead of ssh: it enters a host's namespace.

    Hydra, MPICH's launcher, says `-x` to ssh first.
    """
    prefix = made.hosts[0].name.removesuffix("1")
    agent = made.folder / "agent"
    lines = [
        "#!/bin/sh",
        '[ "$1" = -x ] && shift',
        "host=$1",
        "shift",
        f'exec ip netns exec "{prefix}${{host##*.}}" unshare -u sh -c "hostname $host; $*"',
    ]
    agent.write_text("\n".join(lines) + "\n", encoding="utf-8")
    agent.chmod(0o755)
    return agent
