"""Runs batch programs as short pieces of work, each of which is counted when it is completed.

A piece takes some hundredths of a second of CPU time, so that the throughput of a few seconds is
known to a few per cent.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from aferir.colocation.program import need_batch
from aferir.programs.kernels import kernel_path
from aferir.programs.npb.threads import KERNELS

_XZ_BYTES = 60_000
_LARGER = ("is", "mg")
"""NPB kernels that run in class W, since class S ends too soon for a piece of work."""
_SCENE = """
#version 3.7;
global_settings {{ assumed_gamma 1 }}
camera {{ location <0,2,-5> look_at 0 }}
light_source {{ <5,9,-7> rgb 1 area_light <1,0,0>,<0,1,0>,4,4 }}
plane {{ y,-1 pigment {{ checker rgb 1, rgb 0.2 }} finish {{ reflection 0.3 }} }}
{spheres}
"""
_LOOP = """
work() {{ while :; do {piece} || exit 1; printf . >> {done}; done; }}
k=1; while [ $k -lt {threads} ]; do work & k=$((k+1)); done; work
"""
"""One shell loop per thread, which appends a dot for each completed piece."""


def loop(name: str, folder: Path, threads: int, command: str = "") -> tuple[str, ...]:
    """A command that repeats a piece of work until it is ended; `finished` counts the pieces.

    `command`: shell command of a piece, instead of the named program. The loop ends if a piece
    fails. Errors: UsageError if there is no such program, MissingError if it is not installed.
    """
    if command:
        piece = f"sh -c {shlex.quote(command)}"
    else:
        need_batch(name)
        piece = PROGRAMS[name](folder)
    done = shlex.quote(str(folder / "done"))
    return ("sh", "-c", _LOOP.format(piece=piece, done=done, threads=threads))


def finished(folder: Path) -> int:
    """Number of pieces of work completed since `loop` was called for the first time."""
    try:
        return (folder / "done").stat().st_size
    except FileNotFoundError:
        return 0


def _xz(folder: Path) -> str:
    source = folder / "text"
    library = sorted(Path("/usr/lib").glob("*/libc.so*"))
    data = b"".join(path.read_bytes() for path in library)
    source.write_bytes((data or b"aferir" * _XZ_BYTES)[:_XZ_BYTES])
    return f"xz -6 -T1 -c {shlex.quote(str(source))} > /dev/null"


def _gcc(folder: Path) -> str:
    source = folder / "piece.c"
    function = "int f{k}(int*a,int n){{int s={k};for(int i=1;i<n;i++)s+=a[i]*s^a[i-1];return s;}}"
    source.write_text("\n".join(function.format(k=k) for k in range(12)), encoding="ascii")
    # By pipes: a compiler that is killed leaves its temporary files.
    return f"gcc -pipe -O2 -w -c -o /dev/null {shlex.quote(str(source))}"


def _stress(kind: str, operations: int, more: str = "") -> Callable[[Path], str]:
    def make(_: Path) -> str:
        return f"stress-ng -q --{kind} 1 --{kind}-ops {operations}{more}"

    return make


def _disk(folder: Path) -> str:
    """Write 16 MiB and wait until they are on the disk; each thread has a file of its own."""
    written = shlex.quote(str(folder / "written"))
    return f"dd if=/dev/zero of={written}-$k bs=1M count=16 conv=fsync status=none"


def _povray(folder: Path) -> str:
    spheres = "\n".join(
        f"sphere {{ <{k % 4 - 1.5},{k // 4 * 0.6},0>,0.4 pigment {{ rgb <1,{k / 12},0> }} }}"
        for k in range(12)
    )
    (folder / "scene.pov").write_text(_SCENE.format(spheres=spheres), encoding="ascii")
    where = shlex.quote(str(folder / "scene.pov"))
    return f"povray +W96 +H72 +A0.1 +WT1 -D -GA -O- +I{where} > /dev/null 2>&1"


def _ffmpeg(_: Path) -> str:
    return (
        "ffmpeg -nostdin -loglevel error -f lavfi -i testsrc2=size=320x240:rate=25"
        " -frames:v 80 -threads 1 -c:v mpeg4 -f null -"
    )


def _npb(kernel: str, size: str) -> Callable[[Path], str]:
    def make(_: Path) -> str:
        path = shlex.quote(str(kernel_path(f"npb-{kernel}")))
        return f"{path} --class {size} --threads 1 > /dev/null"

    return make


PROGRAMS: Mapping[str, Callable[[Path], str]] = {
    "xz": _xz,
    "gcc": _gcc,
    # By default the arrays are four times the L3 cache; on a cloud's host a piece takes 7 to 15 s.
    "stream": _stress("stream", 3, " --stream-l3-size 4M"),
    "cache": _stress("cache", 300),
    # Each piece fills 256 MiB and reads them again.
    "memory": _stress("vm", 20, " --vm-bytes 256M --vm-method zero-one"),
    "disk": _disk,
    "povray": _povray,
    "ffmpeg": _ffmpeg,
    **{f"npb-{kernel}": _npb(kernel, "W" if kernel in _LARGER else "S") for kernel in KERNELS},
}
"""Functions that prepare a program's input in a folder and return the shell command of one
piece."""
