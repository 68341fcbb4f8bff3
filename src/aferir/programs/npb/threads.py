"""NAS Parallel Benchmarks: kernels and pseudo-applications (NAS report RNR-94-007, NPB 3.4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Literal, get_args

import msgspec

from aferir.model.finding import Finding
from aferir.model.parameters import told
from aferir.model.record import Sample
from aferir.programs.base import Command, Program
from aferir.programs.declared import Isa, Kernel, ProblemClass, Threads
from aferir.programs.kernels import (
    check_kernels,
    kernel_path,
    options,
    positive,
    read_figures,
)
from aferir.programs.npb.intensity import executed_share, intensity

KERNELS: tuple[Kernel, ...] = get_args(Kernel)
CLASSES: tuple[ProblemClass, ...] = get_args(ProblemClass)

_MEBI = 2**20
_BASE = 16 * _MEBI
"""Bytes of the program itself, its libraries, and buffers of constant size."""
_EP_THREAD = 2 * _MEBI

# Problem sizes of the specification, by class.
_IS_KEYS_LOG2 = {"S": 16, "W": 20, "A": 23, "B": 25, "C": 27, "D": 31}
_CG = {
    "S": (1400, 7),
    "W": (7000, 8),
    "A": (14000, 11),
    "B": (75000, 13),
    "C": (150000, 15),
    "D": (1500000, 21),
}
_MG_EDGE = {"S": 32, "W": 128, "A": 256, "B": 256, "C": 512, "D": 1024}
_FT = {
    "S": (64, 64, 64),
    "W": (128, 128, 32),
    "A": (256, 256, 128),
    "B": (512, 256, 256),
    "C": (512, 512, 512),
    "D": (2048, 1024, 1024),
}
_BT_EDGE = {"S": 12, "W": 24, "A": 64, "B": 102, "C": 162, "D": 408}
_SP_EDGE = {"S": 12, "W": 36, "A": 64, "B": 102, "C": 162, "D": 408}
_LU_EDGE = {"S": 12, "W": 33, "A": 64, "B": 102, "C": 162, "D": 408}


class NpbParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of one kernel and problem class."""

    kernel: Annotated[Kernel, told("what is computed")]
    problem_class: Annotated[ProblemClass, told("problem size")] = msgspec.field(name="class")
    threads: Threads = 1
    idle_threads: Annotated[
        Literal["spin", "sleep"],
        told(
            "what threads that wait for others do: `spin`, poll for some time and then sleep, as "
            "OpenMP does by itself, or `sleep` at once, better where others use the processors too"
        ),
    ] = "spin"
    isa: Isa | None = None


class Npb(Program[NpbParameters]):
    """One kernel and problem class, computed by threads."""

    name = "npb"
    parameters = NpbParameters

    def memory_bytes(self, parameters: NpbParameters) -> int:
        """Bytes of the arrays that the specification prescribes, and of the program itself."""
        arrays = array_bytes(parameters.kernel, parameters.problem_class)
        return _BASE + arrays + _EP_THREAD * parameters.threads

    def check(self) -> list[Finding]:
        """Whether the programs are installed."""
        return check_kernels("npb", tuple(f"npb-{kernel}" for kernel in KERNELS))

    def command(self, parameters: NpbParameters) -> Command:
        """The command line. Errors: MissingError if the program was not built."""
        words = options(parameters, ("class", "threads", "isa"), always=("class", "threads"))
        # IS.S takes 0.2 ms, less than the scheduler needs to move a new thread to an idle CPU.
        variables = {"OMP_PROC_BIND": "true"} if parameters.kernel == "is" else {}
        if parameters.idle_threads == "sleep":
            variables["OMP_WAIT_POLICY"] = "passive"
        return Command(kernel_path(f"npb-{parameters.kernel}"), words, variables)

    def parse(self, stdout: str) -> tuple[Sample, ...]:
        """`duration_s` and `throughput_mops` of a verified run. Errors: as for `Program.parse`.

        If NPB counts floating-point operations, the result also contains `modelled_flops` and
        `modelled_intensity`, which place the run under a roofline.
        """
        figures = read_figures(stdout, "npb-")
        rate = positive(figures, "throughput_mops")
        return (
            Sample("duration_s", positive(figures, "duration_s"), "s"),
            Sample("throughput_mops", rate, "Mop/s"),
            *_modelled(figures, rate),
        )


def _modelled(figures: Mapping[str, object], rate_mops: float) -> tuple[Sample, ...]:
    kernel, problem_class = str(figures["program"]).removeprefix("npb-"), str(figures.get("class"))
    modelled = intensity(kernel, problem_class) if problem_class in CLASSES else None
    if modelled is None:
        return ()
    executed = executed_share(kernel)
    return (
        Sample("modelled_flops", rate_mops * 1e6 * executed, "flop/s"),
        Sample("modelled_intensity", modelled * executed, "flop/B"),
    )


def array_bytes(kernel: str, problem_class: str) -> int:
    """Bytes of the arrays of one kernel and class; 0 if they are constant or unknown."""
    of_class = _ARRAY_BYTES.get(kernel)
    return 0 if of_class is None or problem_class not in CLASSES else of_class(problem_class)


def _is_bytes(problem_class: str) -> int:
    """Bytes of the keys, their ranks and the buffer of the bucket sort, 4 each per key."""
    return (3 * 4) << _IS_KEYS_LOG2[problem_class]


def _cg_bytes(problem_class: str) -> int:
    """Bytes of CG's sparse matrix, of the outer products that add up to it, and of 5 vectors."""
    order, row = _CG[problem_class]
    return order * (row + 1) ** 2 * 12 + order * (row + 1) * 12 + 5 * 8 * order


def _mg_bytes(problem_class: str) -> int:
    """Bytes of right-hand side (finest grid), and solution and residual (all grids, 8/7 of it)."""
    finest = 8 * (_MG_EDGE[problem_class] + 2) ** 3
    return finest + 2 * finest * 8 // 7


def _ft_bytes(problem_class: str) -> int:
    """Bytes of FT's two complex arrays, and of an 8-byte exponent for each point."""
    return math.prod(_FT[problem_class]) * (16 + 16 + 8)


def _flow_bytes(edge: int) -> int:
    """Bytes of state, change and forcing: five components each, in padded rows."""
    return 3 * 5 * 8 * edge**2 * (edge + 8)


def _lu_bytes(edge: int) -> int:
    """Bytes of state, correction and forcing, five components each, and of the inverse density."""
    return 16 * 8 * (edge + 3) * edge * (edge + 8)


_ARRAY_BYTES: dict[str, Callable[[str], int]] = {
    "is": _is_bytes,
    "cg": _cg_bytes,
    "mg": _mg_bytes,
    "ft": _ft_bytes,
    "bt": lambda problem_class: _flow_bytes(_BT_EDGE[problem_class]),
    "sp": lambda problem_class: _flow_bytes(_SP_EDGE[problem_class]),
    "lu": lambda problem_class: _lu_bytes(_LU_EDGE[problem_class]),
}


NPB = Npb()
