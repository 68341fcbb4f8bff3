"""Count the floating-point operations that NPB's kernels execute, and compare with NPB's own count.

Callgrind counts how often each instruction of a run is executed, and `objdump` says which one it
is. Only code compiled for one instruction-set level counts, so neither set-up nor verification
does. It is x86-64-v2, whose vectors have no masks: each instruction has one or two operations.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from aferir.errors import AferirError, MissingError
from aferir.linux import process
from aferir.model.bench import Figure
from aferir.programs.base import read_parameters
from aferir.programs.kernels import positive, read_figures
from aferir.programs.npb.threads import NPB

COUNTED: Mapping[str, str] = {
    "cg": "S",
    "mg": "W",
    "ft": "W",
    "bt": "W",
    "sp": "W",
    "lu": "W",
}
"""Class in which operations are counted, by kernel; only kernels whose operations NPB counts."""

_TIME_LIMIT_S = 3600.0
_FLOATING = re.compile(r"^(add|sub|mul|div|sqrt|min|max|addsub|hadd)(s|p)d$")
_DISASSEMBLED = re.compile(r"^ *([0-9a-f]+):\t(?:lock |rep )?(\S+)")
_SYMBOL = re.compile(r"^([0-9a-f]+) <(.*)>:$")
_LEVEL = "isa_v2"


class Operations(msgspec.Struct, frozen=True):
    """Operations of one run."""

    executed: int
    nominal: float
    """Number of operations by NPB's own count, in the timed iterations."""
    iterations: int

    @property
    def share(self) -> float:
        """Ratio of executed to nominal operations per iteration; one iteration is not timed."""
        return self.executed * self.iterations / (self.iterations + 1) / self.nominal


def figure(kernel: str) -> Figure:
    """Ratio of executed to nominal operations of a kernel, in its class of `COUNTED`."""
    problem_class = COUNTED[kernel]
    name = f"operations.{kernel}.{problem_class}"
    try:
        found = count(kernel, problem_class)
    except AferirError as error:
        return Figure(name=name, value=None, unit="ratio", n=0, holds=False, note=error.message)
    return Figure(
        name=name,
        value=found.share,
        unit="ratio",
        n=1,
        note=f"{found.executed:,} executed in {found.iterations} iterations and an untimed one; "
        f"NPB counts {found.nominal:.4g} in the timed ones",
    )


def operations_of(mnemonic: str) -> int:
    """Floating-point operations in double precision of one SSE2 instruction; 0 for any other."""
    found = _FLOATING.match(mnemonic)
    return 0 if found is None else (1 if found[2] == "s" else 2)


def read_disassembly(text: str) -> dict[int, int]:
    """Parse objdump's output: operations by address, of instructions compiled for the level."""
    counted: dict[int, int] = {}
    inside = False
    for line in text.splitlines():
        symbol = _SYMBOL.match(line)
        if symbol is not None:
            inside = _LEVEL in symbol[2]
        elif inside and (found := _DISASSEMBLED.match(line)) is not None:
            number = operations_of(found[2])
            if number:
                counted[int(found[1], 16)] = number
    return counted


def read_callgrind(text: str) -> dict[int, int]:
    """Parse a callgrind profile: executions by address of the instruction.

    The profile must be made with `--dump-instr=yes` and without compression.
    """
    executions: dict[int, int] = {}
    is_call = False
    for line in text.splitlines():
        if line.startswith("calls="):
            is_call = True
        elif line.startswith("0x"):
            # After `calls=` comes what the callee cost, which its own lines have.
            if not is_call:
                words = line.split()
                address = int(words[0], 16)
                executions[address] = executions.get(address, 0) + int(words[-1])
            is_call = False
    return executions


def count(kernel: str, problem_class: str) -> Operations:
    """Run one program under callgrind. Errors: MissingError without it; those of the program."""
    command = NPB.command(
        read_parameters(NPB, {"kernel": kernel, "class": problem_class, "threads": 1, "isa": "v2"})
    )
    with tempfile.TemporaryDirectory(prefix="aferir-operations-") as folder:
        profile = Path(folder) / "profile"
        try:
            done = process.run(
                [
                    *("valgrind", "--tool=callgrind", "--dump-instr=yes", "--compress-pos=no"),
                    *("--compress-strings=no", f"--callgrind-out-file={profile}"),
                    *(str(command.program), *command.arguments),
                ],
                timeout_s=_TIME_LIMIT_S,
            )
        except MissingError as error:
            raise MissingError(error.message, remedy="apt-get install valgrind") from None
        executions = read_callgrind(profile.read_text())
    listing = process.run(["objdump", "-d", "--no-show-raw-insn", str(command.program)])
    operations = read_disassembly(listing.stdout)
    figures = read_figures(done.stdout, "npb-")
    nominal = positive(figures, "throughput_mops") * positive(figures, "duration_s") * 1e6
    iterations = figures["iterations"]
    assert isinstance(iterations, int)
    executed = sum(executions.get(address, 0) * number for address, number in operations.items())
    return Operations(executed, nominal, iterations)
