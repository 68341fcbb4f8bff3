"""Compute known permeabilities, and compare the speed with the RRZE's kernels on one geometry.

The peer is RRZE-HPC/lbm-benchmark-kernels, its kernel `list-aa-pv-soa` in double precision; `--peer
lbm-benchmark-kernels=PROGRAM` names its `lbmbenchk-...`. Three contenders run in turns: ours, ours
with only one time step in each pass over the memory (as the peer does), and the peer. So noise of
the machine affects all alike, and each round gives one ratio. All must have the same fluid cells.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

import msgspec

from aferir.errors import AferirError, ProgramError
from aferir.linux import process
from aferir.model.bench import Figure
from aferir.model.plan import Parameter
from aferir.programs.base import read_parameters
from aferir.programs.kernels import positive, read_figures
from aferir.programs.lattice_boltzmann import LATTICE_BOLTZMANN, PROGRAM
from aferir.selftest.options import BenchOptions, Note
from aferir.statistics.intervals import median_interval
from aferir.statistics.ratio import paired_ratio

PEERS = ("lbm-benchmark-kernels",)
_KERNEL = "list-aa-pv-soa"
_ERROR_TARGET = 0.01
_ROUNDS, _QUICK_ROUNDS = 11, 3
_TIME_LIMIT_S = 600.0
_STEPS = 40
_EDGE = 160
_KNOWN: Mapping[str, Mapping[str, Parameter]] = {
    "slit": {"geometry": "slit", "size": "8x32x8"},
    "duct": {"geometry": "duct", "size": "8x32x48"},
    "duct_by_pressure": {"geometry": "duct", "size": "8x32x48", "ends": "pressure"},
    "simple_cubic": {"geometry": "sc", "size": "64x64x64"},
    "body_centred": {"geometry": "bcc", "size": "64x64x64"},
    "face_centred": {"geometry": "fcc", "size": "64x64x64"},
}
_LONG = ("simple_cubic", "body_centred", "face_centred")
# The peer's walls are cells of its box, ours are around it: so both have the same fluid cells.
_BESIDE: Mapping[str, tuple[str, Mapping[str, Parameter]]] = {
    "channel": ("channel", {"geometry": "duct"}),
    "blocks": ("blocks-16", {"geometry": "blocks", "edge": 16}),
}
_THREADS = (1, 2)


def figures(options: BenchOptions, note: Note) -> list[Figure]:
    """Return the permeabilities, then the speeds by geometry and number of threads."""
    known = [name for name in _KNOWN if not options.quick or name not in _LONG]
    beside = [(name, threads) for name in _BESIDE for threads in _THREADS]
    beside = beside[: len(_THREADS)] if options.quick else beside
    total = len(known) + len(beside)
    found = []
    for done, name in enumerate(known):
        note(f"permeability of {name}", done / total)
        found.append(_permeability(name))
    peer = options.peers.get(PEERS[0])
    for done, (name, threads) in enumerate(beside, start=len(known)):
        note(f"lattice Boltzmann, {name}, {threads} threads", done / total)
        rounds = _QUICK_ROUNDS if options.quick else _ROUNDS
        found += _speed(name, threads, rounds, peer)
    return found


class Speed(msgspec.Struct, frozen=True):
    """One run."""

    mflups: float
    """Million updates of fluid cells a second."""
    fluid_cells: int
    roofline_fraction: float = 0.0
    """Share of the measured memory bandwidth that our memory traffic takes; 0: not known, for a
    peer.
    """


def read_peer(stdout: str) -> Speed:
    """Parse what the peer printed. Errors: ProgramError."""
    found = re.search(r"^P: +([0-9.]+) MFLUP/s .* kernel: (\S+) .* dp$", stdout, re.MULTILINE)
    cells = re.search(r"^# +fluid cells: +\t?([0-9]+) *$", stdout, re.MULTILINE)
    if found is None or cells is None or found[2] != _KERNEL or float(found[1]) <= 0:
        raise ProgramError(f"the peer printed no figure of {_KERNEL}: {stdout[-200:]!r}")
    return Speed(float(found[1]), int(cells[1]))


def _permeability(name: str) -> Figure:
    value, problem = None, ""
    try:
        value = _run_ours({**_KNOWN[name], "threads": _THREADS[-1]})["permeability_error"]
    except AferirError as error:
        problem = error.message
    return Figure(
        name=f"lbm.permeability.{name}.error",
        value=value,
        unit="1",
        n=1,
        target=f"<= {_ERROR_TARGET}",
        holds=value is not None and value <= _ERROR_TARGET,
        note=problem or "relative to the analytic value",
    )


def _speed(name: str, threads: int, rounds: int, peer: Path | None) -> list[Figure]:
    peer_geometry, parameters = _BESIDE[name]
    run = {
        **parameters,
        "size": f"{_EDGE}x{_EDGE - 2}x{_EDGE - 2}",
        "threads": threads,
        "steps": _STEPS,
        "roofline": True,
    }
    contenders: dict[str, Callable[[], Speed]] = {
        "": lambda: _run_timed(run),
        ".one_step_a_pass": lambda: _run_timed({**run, "block_steps": 1}),
    }
    if peer is not None:
        contenders[PEERS[0]] = lambda: run_peer(peer, peer_geometry, threads)
    found: dict[str, list[Speed]] = {contender: [] for contender in contenders}
    try:
        for k in range(rounds):
            # The later program finds a warmer machine, so each begins in its turn.
            order = list(contenders)
            for contender in order[k % len(order) :] + order[: k % len(order)]:
                found[contender].append(contenders[contender]())
    except AferirError as error:
        return [_failed(f"lbm.{name}.{threads}.throughput", error.message)]
    return judge(f"lbm.{name}.{threads}", found)


def judge(case: str, found: Mapping[str, Sequence[Speed]]) -> list[Figure]:
    """Figures of our program, of ours with one time step a pass, and of the peer, if it ran."""
    theirs = found.get(PEERS[0], ())
    figures = []
    for arm in ("", ".one_step_a_pass"):
        speeds = found[arm]
        shares = [speed.roofline_fraction for speed in speeds]
        figures += [
            _throughput(
                f"{case}{arm}.throughput",
                [speed.mflups for speed in speeds],
                [speed.mflups for speed in theirs],
            ),
            Figure(
                name=f"{case}{arm}.roofline_fraction",
                value=median(shares),
                unit="1",
                n=len(shares),
                interval=_interval(shares),
                target="<= 1",
                holds=median(shares) <= 1,
                note="traffic of the blocked steps over the bandwidth measured right after",
            ),
        ]
    return [*figures, *_same_cells(case, found[""], theirs)]


def _same_cells(case: str, ours: Sequence[Speed], theirs: Sequence[Speed]) -> list[Figure]:
    if not theirs:
        return []
    return [
        Figure(
            name=f"{case}.fluid_cells",
            value=float(ours[0].fluid_cells),
            unit="count",
            n=len(theirs),
            peer=PEERS[0],
            peer_value=float(theirs[0].fluid_cells),
            target="== peer",
            holds={speed.fluid_cells for speed in ours} == {speed.fluid_cells for speed in theirs},
        )
    ]


def _throughput(name: str, ours: list[float], theirs: list[float]) -> Figure:
    ratio = paired_ratio(ours, theirs) if theirs else None
    interval = None if ratio is None else ratio.interval
    estimate = None if ratio is None else ratio.estimate
    return Figure(
        name=name,
        value=median(ours),
        unit="MFLUP/s",
        n=len(ours),
        interval=_interval(ours),
        peer=PEERS[0] if theirs else "",
        peer_value=median(theirs) if theirs else None,
        ratio=estimate,
        target="ratio >= 1" if theirs else "",
        holds=None if ratio is None else estimate is not None and estimate >= 1.0,
        note=""
        if interval is None
        else f"ratio's 95 % interval [{interval.low:.3g}, {interval.high:.3g}]",
    )


def _failed(name: str, problem: str) -> Figure:
    return Figure(name=name, value=None, unit="MFLUP/s", n=0, holds=False, note=problem)


def _run_ours(parameters: Mapping[str, Parameter]) -> dict[str, float]:
    command = LATTICE_BOLTZMANN.command(read_parameters(LATTICE_BOLTZMANN, parameters))
    done = process.run(
        [str(command.program), *command.arguments], timeout_s=_TIME_LIMIT_S, check=False
    )
    return {sample.metric: sample.value for sample in LATTICE_BOLTZMANN.parse(done.stdout)}


def _run_timed(parameters: Mapping[str, Parameter]) -> Speed:
    command = LATTICE_BOLTZMANN.command(read_parameters(LATTICE_BOLTZMANN, parameters))
    done = process.run(
        [str(command.program), *command.arguments], timeout_s=_TIME_LIMIT_S, check=False
    )
    figures = read_figures(done.stdout, PROGRAM)
    return Speed(
        positive(figures, "mflups"),
        int(positive(figures, "fluid_cells")),
        positive(figures, "roofline_fraction"),
    )


def run_peer(program: Path, geometry: str, threads: int) -> Speed:
    """Run the peer.

    It writes files into its working directory, which is therefore a temporary one.
    """
    with tempfile.TemporaryDirectory(prefix="aferir-lbm-") as folder:
        done = process.run(
            [
                *(str(program.resolve()), "-kernel", _KERNEL, "-geometry", geometry),
                *("-t", str(threads), "-iterations", str(_STEPS)),
                *("-dims", f"{_EDGE}x{_EDGE}x{_EDGE}"),
            ],
            environment={"OMP_NUM_THREADS": str(threads)},
            directory=Path(folder),
            timeout_s=_TIME_LIMIT_S,
        )
    return read_peer(done.stdout)


def _interval(values: Sequence[float]) -> tuple[float, float] | None:
    found = median_interval(values)
    return None if found is None else (found.low, found.high)
