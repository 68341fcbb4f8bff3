"""Break each of NPB's kernels on purpose, one line at a time, and count the faults that it detects.

A fault replaces a text that occurs once in the kernel's sources. The kernel is compiled from a copy
at one instruction-set level and run in class S with two threads. With the fault it must not verify
its result; with the sources unchanged it must.
"""

from __future__ import annotations

import platform
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from aferir.errors import AferirError, ProgramError
from aferir.linux import process
from aferir.model.bench import Figure

KERNELS = Path(__file__).parents[2] / "native/kernels"
_COMMON = (
    *("arguments", "awaited", "histogram", "isa", "json", "memory", "memory_limits", "program"),
    "storage",
)
_SHARED = (
    *("adi_problem", "cg_matrix", "ep_reference", "ft_reference", "is_problem", "lu_problem"),
    *("mg_problem", "npb", "pseudo_application"),
)
"""Sources that every kernel is linked with, unchanged: problems and their reference values."""
_SOURCES = {"ft": ("ft", "ft_passes")}
"""Sources of a kernel's own, if they are several."""
_COMPILE_LIMIT_S, _RUN_LIMIT_S = 1200.0, 120.0
_MAIN = """
#include "npb/npb.hpp"
namespace aferir::npb::AFERIR_ISA {{
Outcome run_{kernel}(ProblemClass problem, int threads);
}}
int main() {{
    using namespace aferir::npb;
    return AFERIR_ISA::run_{kernel}(ProblemClass::S, 2).verified ? 0 : 1;
}}
"""


class Fault(msgspec.Struct, frozen=True):
    """One line that computes something else."""

    file: str
    """Source below native/kernels/npb."""
    text: str
    wrong: str


FAULTS: Mapping[str, Sequence[Fault]] = {
    "ep": (
        Fault("ep_batch.hpp", "counts[3] -= distance >= 3.0;", "counts[3] -= distance >= 3.001;"),
        Fault("ep_batch.hpp", "sy += gy;", "sy += gx;"),
        Fault("ep_batch.hpp", "counts[annulus] += distance[lane] >=", "counts[annulus] += 0.5 >="),
    ),
    "cg": (
        Fault("cg.cpp", "z_[j] += alpha * p_[j];", "z_[j] += 1.001 * alpha * p_[j];"),
        Fault("cg.cpp", "r_[j] -= alpha * q_[j];", "r_[j] -= 1.001 * alpha * q_[j];"),
        Fault("cg_blocks.hpp", "plan.matrix.values[element] : 0.0;", "0.0 : 0.0;"),
    ),
    "is": (
        Fault("is_ranking.hpp", "chunk[i] += counts[i];", "chunk[i] += counts[i] + (i == 900);"),
        Fault("is_ranking.hpp", "rank += before;", "rank += before - 1;"),
        Fault("is_ranking.hpp", "total += count;", "total += count + (count == 30);"),
    ),
    "mg": (
        Fault("mg_rows.hpp", "row[size] = row[0];", "row[size] = row[1];"),
        Fault("mg_rows.hpp", "both(&Cross<W>::faces) + block.edges", "both(&Cross<W>::faces)"),
        Fault("mg_rows.hpp", "row[-1] = row[size - 1];", "row[-1] = row[size - 2];"),
    ),
    "ft": (
        Fault("ft_passes.cpp", "value.im * factor}", "value.im * along_xy}"),
        Fault("ft_passes.cpp", "along_xy * decays.z[", "1.000001 * along_xy * decays.z["),
        Fault("ft_passes.cpp", "store_tile(tiles, {re, next()});", "store_tile(tiles, {re, re});"),
    ),
    "bt": (
        Fault("bt_lines.hpp", "jacobian.column[4] = -mass * total;", "jacobian.column[4] = mass;"),
        Fault("bt_lines.hpp", "normal * (2.0 * kC2", "normal * (2.001 * kC2"),
        Fault("adi_right_side.hpp", "(outermost ? 5.0 : 6.0) * k", "(outermost ? 6.0 : 6.0) * k"),
    ),
    "sp": (
        Fault("sp_lines.hpp", "upper = -4.0 * dissipation_", "upper = -4.001 * dissipation_"),
        Fault("sp_lines.hpp", "turn = y * value[0] - x", "turn = y * value[0] + x"),
        Fault("adi_right_side.hpp", "sum[4] -= onward * after.pressure;", ""),
    ),
    "lu": (
        Fault("lu_sweep.hpp", "delta[m] += v[m];", "delta[m] += 1.0001 * v[m];"),
        Fault("lu_sweep.hpp", "+= factors.step * delta", "+= 1.0001 * factors.step * delta"),
        Fault("lu_sweep.hpp", "change[m] += weight[3] *", "change[m] += 1.0001 * weight[3] *"),
    ),
}
"""Faults of each kernel."""


def figure(kernel: str) -> Figure:
    """Count the faults of a kernel that it reports as not verified."""
    name, faults = f"broken.{kernel}", FAULTS[kernel]
    try:
        with tempfile.TemporaryDirectory(prefix="aferir-broken-") as folder:
            found = [_is_found(kernel, fault, Path(folder)) for fault in faults]
    except AferirError as error:
        return Figure(name=name, value=None, unit="faults", n=0, holds=False, note=error.message)
    unseen = [fault.wrong for fault, seen in zip(faults, found, strict=True) if not seen]
    return Figure(
        name=name,
        value=float(sum(found)),
        unit="faults",
        n=len(faults),
        target=f"== {len(faults)}",
        holds=not unseen,
        note=f"verified all the same: {'; '.join(unseen)}" if unseen else "",
    )


def _is_found(kernel: str, fault: Fault, folder: Path) -> bool:
    """Whether a kernel with that fault does not verify. Errors: ProgramError, and of the compiler.

    The first call compiles the shared sources, and the unchanged kernel, which must verify.
    """
    if not (folder / "shared").exists():
        (folder / "shared").mkdir()
        shared = [f"common/{one}.cpp" for one in _COMMON] + [f"npb/{one}.cpp" for one in _SHARED]
        _compile(["-c", *(str(KERNELS / one) for one in shared)], KERNELS, folder / "shared")
        if not _verifies(kernel, KERNELS, folder):
            raise ProgramError(f"{kernel} does not verify as it is")
    copy = folder / "broken"
    shutil.copytree(KERNELS, copy, dirs_exist_ok=True)
    path = copy / "npb" / fault.file
    path.write_text(put(fault, path.read_text(encoding="utf-8")), encoding="utf-8")
    return not _verifies(kernel, copy, folder)


def put(fault: Fault, text: str) -> str:
    """Return the source with the fault. Errors: ProgramError unless its text occurs once."""
    if text.count(fault.text) != 1:
        raise ProgramError(f"{fault.file} has {text.count(fault.text)} times: {fault.text}")
    return text.replace(fault.text, fault.wrong)


def _verifies(kernel: str, sources: Path, folder: Path) -> bool:
    main = folder / "main.cpp"
    main.write_text(_MAIN.format(kernel=kernel), encoding="utf-8")
    objects = sorted(map(str, (folder / "shared").glob("*.o")))
    program = folder / "program"
    own = [str(sources / "npb" / f"{one}.cpp") for one in _SOURCES.get(kernel, (kernel,))]
    _compile([*own, str(main), *objects, "-o", str(program)], sources, folder)
    return process.run([str(program)], timeout_s=_RUN_LIMIT_S, check=False).exit_code == 0


def _compile(words: Sequence[str], sources: Path, directory: Path) -> None:
    is_x86 = platform.machine() == "x86_64"
    level = ["-march=x86-64-v2", "-DAFERIR_ISA=isa_v2"] if is_x86 else ["-DAFERIR_ISA=isa_base"]
    line = ["c++", "-std=c++20", "-O1", "-fno-math-errno", "-fopenmp", *level, f"-I{sources}"]
    process.run([*line, *words], timeout_s=_COMPILE_LIMIT_S, directory=directory)
