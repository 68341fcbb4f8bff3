"""Explains from its first bytes why the kernel does not execute a file; pure.

Source: elf(5), execve(2).
"""

from __future__ import annotations

import os
import struct

import msgspec

_MACHINES = {3: "x86 (32 bits)", 40: "arm (32 bits)", 62: "x86_64", 183: "aarch64", 243: "riscv",
             21: "ppc64", 22: "s390"}  # fmt: skip
_OWN = {"x86_64": 62, "aarch64": 183, "riscv64": 243, "ppc64le": 21, "s390x": 22}


class Refused(msgspec.Struct, frozen=True):
    """Reason for which a file cannot be executed, and its remedy."""

    message: str
    remedy: str


def explain_file(header: bytes, machine: str | None = None) -> Refused | None:
    """Why a file with this `header` is not executed on a `machine`; None if the header is empty."""
    machine = machine or os.uname().machine
    if not header:
        return None
    if header[:2] == b"#!":
        interpreter = header[2:].split(b"\n")[0].split()[:1]
        name = interpreter[0].decode("utf-8", "replace") if interpreter else ""
        if header.split(b"\n")[0].endswith(b"\r"):
            return Refused(
                f"its lines end as in Windows, so that its interpreter's name, `{name}`, has a"
                " carriage return at its end",
                "sed -i 's/\\r$//' FILE",
            )
        return Refused(
            f"it is a script of `{name}`, which is not in this environment",
            f"name the Debian package that has {name} as `packages`",
        )
    if header[:4] == b"\x7fELF" and len(header) >= 20:
        order = "<" if header[5] == 1 else ">"
        kind = struct.unpack_from(f"{order}H", header, 18)[0]
        if kind != _OWN.get(machine, kind):
            built = _MACHINES.get(kind, f"machine {kind}")
            return Refused(
                f"it is a program for {built}, and this is {machine}",
                f"compile it for {machine}",
            )
        return Refused(
            "the loader that it names, or one of that loader's folders, is not in this environment",
            "use an image of the distribution that it was built on, or link it statically",
        )
    return Refused(
        "it is neither a program of this system nor a script that names its interpreter",
        "begin a script with #!/bin/sh, or run it as `sh FILE`",
    )
