"""Cost of keeping clocks for a proxy of an ocean model: docs/guides/ocean-proxy.md.

One job computes the same steps in four variants (arms), in turns: `rgap` stamps its steps with
MPI_Wtime, set once at the start; `control` repeats `rgap`; `ntp-like` stamps them with a clock that
a daemon, or chronyd, keeps setting; `noise` runs beside a daemon that works at intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median, stdev
from typing import Annotated, Literal

import msgspec

from aferir.errors import MissingError, ProgramError
from aferir.model.finding import Finding
from aferir.model.parameters import told, whole
from aferir.model.record import Sample, Series, Warning
from aferir.programs.base import Command, Program
from aferir.programs.declared import Processes, WhichMpi
from aferir.programs.kernels import check_kernels, kernel_path, options, read_figures
from aferir.programs.mpi import MOST_PROCESSES, check_mpi, launch

PROGRAM = "ocean"
HELPER = "ocean-helper"
REFERENCE = "rgap"
OTHERS = ("control", "ntp-like", "noise")
SHAPE = (12288, 8192)
"""Cells of the published grid in both directions (Dutra 2015, Table 7.3)."""
_ARRAYS = 15
_RANK_BYTES = 64 * 2**20
_ON = ("solver", "steps", "rounds", "nodes", "ntp_period_us", "noise_period_us", "noise_work_us")


class Arm(msgspec.Struct, frozen=True):
    """Results of one arm, one number per round; `steps_s` holds the steps of all rounds."""

    name: str
    duration_s: list[float]
    sums_share: list[float]
    halos_share: list[float]
    clock_error_s: list[float]
    """Empty, as `steps_error_s` is, on hosts whose true difference is unknown."""
    steps_error_s: list[float]
    helpers_cpu_s: list[float]
    wake_ups: list[float]
    messages: list[float]
    steps_s: list[float]


class OceanParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of the job and its four arms."""

    processes: Processes = 2
    mpi: WhichMpi | None = None
    solver: Annotated[
        Literal["chronopoulos-gear", "pcg"], told("one global sum an iteration, or two")
    ] = "chronopoulos-gear"
    scale: Annotated[
        Literal[1, 2, 4, 8, 16, 32, 64],
        told("the grid has 12288 / `scale` times 8192 / `scale` cells"),
    ] = 32
    steps: Annotated[int, whole("time steps of each arm", 2, 1_000_000)] = 20
    rounds: Annotated[int, whole("how often each arm runs", 1, 10_000)] = 2
    nodes: Annotated[
        int, whole("groups of ranks with a daemon and a clock of their own", 1, MOST_PROCESSES)
    ] = 1
    ntp_period_us: Annotated[
        int, whole("time between two settings of the clock", 100, 1_000_000_000, unit="us")
    ] = 100_000
    daemon: Annotated[
        Literal["own", "chronyd"],
        told(
            "what sets the clock of the arm `ntp-like`; `chronyd`: the system's, on all hosts but "
            "the first, as root"
        ),
    ] = "own"
    noise_period_us: Annotated[
        int, whole("period of the daemon in the arm `noise`", 100, 1_000_000_000, unit="us")
    ] = 100_000
    noise_work_us: Annotated[
        int, whole("how long this daemon works each time", 0, 1_000_000_000, unit="us")
    ] = 2500


class Ocean(Program[OceanParameters]):
    """One job that computes the same steps in four variants (arms)."""

    name = PROGRAM
    parameters = OceanParameters
    kinds = ("native",)

    def memory_bytes(self, parameters: OceanParameters) -> int:
        """Bytes of the arrays, and of each rank's MPI."""
        cells = (SHAPE[0] // parameters.scale) * (SHAPE[1] // parameters.scale)
        return 8 * _ARRAYS * cells + _RANK_BYTES * parameters.processes

    def packages(self, parameters: OceanParameters) -> tuple[str, ...]:
        """Debian's chrony, if its daemon is wanted."""
        return ("chrony",) if parameters.daemon == "chronyd" else ()

    def check(self) -> list[Finding]:
        """Whether an MPI, the program for it, and the daemons are installed."""
        return [*check_mpi(PROGRAM, (PROGRAM,)), *check_kernels(PROGRAM, (HELPER,))]

    def command(self, parameters: OceanParameters) -> Command:
        """The command line. Errors: MissingError if a program or the MPI is missing."""
        nx, ny = (edge // parameters.scale for edge in SHAPE)
        words = ("--nx", str(nx), "--ny", str(ny), *options(parameters, _ON, always=_ON))
        if parameters.daemon != "own":
            words = (*words, "--daemon", parameters.daemon)
        helper = kernel_path(HELPER)
        here = _launched(parameters, ("--helper", str(helper), *words))
        there = _launched(parameters, words, helper).there  # where each host has its own folder
        return msgspec.structs.replace(here, there=there)

    def parse(self, stdout: str) -> Sequence[Sample | Series | Warning]:
        """Figures of all arms; `duration_s` is the median over the rounds of `rgap`.

        Errors: as for `Program.parse`; MissingError if ranks did not read one MPI_Wtime.
        """
        figures = read_figures(stdout, PROGRAM)
        if figures.get("global_time") is not True:
            raise MissingError(
                "MPI_Wtime was not one time for all ranks of the ocean proxy",
                remedy="install aferir again, with the MPI's development package installed",
            )
        arms = _arms(figures)
        return (
            *_samples(figures, arms),
            *_series(arms),
            *_along_processes(figures, arms),
            *_doubts(figures),
        )


def _launched(parameters: OceanParameters, arguments: Sequence[str], *beside: Path) -> Command:
    return launch(
        PROGRAM,
        arguments,
        processes=parameters.processes,
        mpi=parameters.mpi,
        preload=True,
        beside=beside,
    )


def _doubts(figures: Mapping[str, object]) -> Iterator[Warning]:
    """Warnings about hosts that are one machine, and about a chronyd that steered no clock."""
    hosts = round(_number(figures, "hosts")) if "hosts" in figures else 1
    if hosts > 1 and figures.get("one_kernel") is True:
        said = f"the {hosts} hosts have one kernel: they are one machine, with one system clock"
        yield Warning("one-machine", said, "take hosts that are machines")
    steered = figures.get("steered_hosts")
    if figures.get("daemon") == "chronyd" and steered != max(1, hosts - 1):
        said = f"chronyd steered the system clock of {steered} hosts; on others it only measured"
        advice = "it steers on hosts with a kernel of their own, the first one excepted"
        yield Warning("chronyd-measured", said, advice)


def differences_s(arm: Arm, reference: Arm) -> list[float]:
    """Duration of each round of an arm minus the reference's in the same round, in seconds."""
    return [a - b for a, b in zip(arm.duration_s, reference.duration_s, strict=True)]


def _samples(figures: Mapping[str, object], arms: Mapping[str, Arm]) -> list[Sample]:
    reference = arms[REFERENCE]
    samples = [
        Sample("duration_s", median(reference.duration_s), "s"),
        Sample("step_sd_s", stdev(reference.steps_s), "s"),
        Sample("sums_share", median(reference.sums_share), "1"),
        Sample("halos_share", median(reference.halos_share), "1"),
        Sample("iterations", _number(figures, "iterations"), "1"),
    ]
    for name in OTHERS:
        arm, start = arms[name], name.replace("-", "_")
        samples += [
            Sample(f"{start}_difference_s", median(differences_s(arm, reference)), "s"),
            Sample(f"{start}_step_sd_ratio", _ratio(arm, reference), "1"),
            Sample(f"{start}_sums_share", median(arm.sums_share), "1"),
        ]
    daemon = arms["ntp-like"]
    return [
        *samples,
        *(
            Sample(name, max(arm.clock_error_s), "s")
            for name, arm in (("ntp_like_clock_error_s", daemon), ("clock_error_s", reference))
            if arm.clock_error_s
        ),
        Sample("ntp_like_wake_ups", median(daemon.wake_ups), "1"),
        Sample("ntp_like_messages", median(daemon.messages), "1"),
        Sample("ntp_like_cpu_s", median(daemon.helpers_cpu_s), "s"),
        Sample("noise_cpu_s", median(arms["noise"].helpers_cpu_s), "s"),
    ]


def _series(arms: Mapping[str, Arm]) -> list[Series]:
    names = (REFERENCE, *OTHERS)
    rounds = len(arms[REFERENCE].duration_s)
    every_round = tuple(name for name in names for _ in range(rounds))

    def by_arm(metric: str, unit: str, values: Mapping[str, list[float]]) -> Series:
        pooled = tuple(value for name in names for value in values[name])
        return Series(metric=metric, unit=unit, values=pooled, along="arm", at=every_round)

    steps = len(arms[REFERENCE].steps_s) // rounds
    return [
        by_arm("arm_duration_s", "s", {name: arms[name].duration_s for name in names}),
        *(
            (by_arm("arm_clock_error_s", "s", {name: arms[name].clock_error_s for name in names}),)
            if arms[REFERENCE].clock_error_s
            else ()
        ),
        *(
            Series(
                metric="step_time_s",
                unit="s",
                values=tuple(arms[name].steps_s),
                along="step",
                at=tuple(float(step) for _ in range(rounds) for step in range(1, steps + 1)),
                label=name,
            )
            for name in names
        ),
    ]


def _along_processes(figures: Mapping[str, object], arms: Mapping[str, Arm]) -> list[Series]:
    """Each arm's difference from the reference and share of time in global sums, by round."""
    processes = _number(figures, "processes")

    def along(metric: str, unit: str, name: str, values: Sequence[float]) -> Series:
        return Series(
            metric=metric,
            unit=unit,
            values=tuple(values),
            along="processes",
            at=(processes,) * len(values),
            label=name,
        )

    reference = arms[REFERENCE]
    return [
        *(along("difference_s", "s", n, differences_s(arms[n], reference)) for n in OTHERS),
        *(along("arm_sums_share", "1", n, arms[n].sums_share) for n in (REFERENCE, *OTHERS)),
    ]


def _ratio(arm: Arm, reference: Arm) -> float:
    """Standard deviation of an arm's step times over the reference's; 1 if that is 0."""
    below = stdev(reference.steps_s)
    return stdev(arm.steps_s) / below if below > 0 else 1.0


def _arms(figures: Mapping[str, object]) -> dict[str, Arm]:
    """The arms by name. Errors: ProgramError if one is missing or its numbers are invalid."""
    try:
        arms = {arm.name: arm for arm in msgspec.convert(figures.get("arms"), list[Arm])}
    except (msgspec.ValidationError, RecursionError, OverflowError) as error:
        raise ProgramError(f"{PROGRAM} printed unreadable arms: {error}") from None
    missing = [name for name in (REFERENCE, *OTHERS) if name not in arms]
    if missing:
        raise ProgramError(f"{PROGRAM} printed no figures of {', '.join(missing)}")
    rounds = len(arms[REFERENCE].duration_s)
    steps = len(arms[REFERENCE].steps_s)
    if rounds == 0 or steps < 2 or steps % rounds != 0:
        raise ProgramError(f"{PROGRAM} printed {steps} steps in {rounds} rounds")
    for arm in arms.values():
        lists = [value for value in msgspec.structs.astuple(arm) if isinstance(value, list)]
        unknown = figures.get("one_kernel") is False
        sizes = {len(value) for value in lists[:-1] if value or not unknown}
        numbers = [number for value in lists for number in value]
        if sizes != {rounds} or len(arm.steps_s) != steps or not all(map(math.isfinite, numbers)):
            raise ProgramError(f"{PROGRAM} printed unreadable figures of {arm.name}")
        if min(arm.duration_s) <= 0:
            raise ProgramError(f"{PROGRAM} printed a duration of {min(arm.duration_s)} s")
    return arms


def _number(figures: Mapping[str, object], name: str) -> float:
    value = figures.get(name)
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    raise ProgramError(f"{PROGRAM} printed `{name}` as {str(value)[:60]!r}, not a number")


OCEAN = Ocean()
