"""Define ten environments with a known cause, each with a program that it slows down."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec

from aferir.errors import MissingError
from aferir.linux import process

_RULES = 900
"""Number of rules of the planted filter, each of which compares arguments of the call.

The kernel caches no answer for a call whose arguments are compared (seccomp(2), SECCOMP_RET_ALLOW).
"""


_MANY_FILES = "i=0; while [ $i -lt 500 ]; do echo text > small-$i; i=$((i+1)); done"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One environment, in the syntax of `--in`, and the command that runs in it."""

    name: str
    environment: str
    command: str
    cause: str
    """The feature that costs most; empty: none costs anything."""
    others: tuple[str, ...]
    """Features that are removed too, and cost nothing or next to nothing."""
    prepare: str = ""


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """Program, filter and addresses that all cases share."""

    program: Path
    filter: Path
    host: str
    port: int


def cases(ground: Ground) -> tuple[Case, ...]:
    """Return all ten cases."""
    program = str(ground.program)
    return (*_of_isolation(ground, program), *_of_resources(program))


def alike(ground: Ground) -> tuple[Case, ...]:
    """Return environments of several kinds, no feature of which slows a computing program."""
    command = f"{ground.program} spin 40000000"
    return (
        next(one for one in cases(ground) if not one.cause),
        Case(
            name="LXC",
            environment="container memory=1GiB",
            command=command,
            cause="",
            others=("network", "seccomp filter", "overlay", "memory limit"),
        ),
        Case(
            name="bubblewrap",
            environment="bubblewrap memory=1GiB huge_pages=false",
            command=command,
            cause="",
            others=("overlay", "memory limit", "small pages"),
        ),
        Case(
            name="limits of the host",
            environment="native memory=1GiB huge_pages=false",
            command=command,
            cause="",
            others=("memory limit", "small pages"),
        ),
    )


def _of_isolation(ground: Ground, program: str) -> tuple[Case, ...]:
    """Return the cases whose environments isolate the program."""
    return (
        Case(
            name="seccomp filter",
            environment=f"podman seccomp={ground.filter}",
            command=f"{program} calls 200000",
            cause="seccomp filter",
            others=("network", "capabilities", "overlay"),
        ),
        Case(
            name="overlay with many small files",
            environment="podman",
            prepare=_MANY_FILES,
            command=f"{program} files 500 200",
            cause="overlay",
            others=("network", "capabilities", "seccomp filter"),
        ),
        Case(
            name="bridged network",
            environment="podman network=bridge",
            command=f"{program} sends {ground.host} {ground.port} 100000",
            cause="network",
            others=("seccomp filter", "capabilities", "overlay"),
        ),
        Case(
            name="user namespace",
            environment="podman user_namespace=true capabilities=SYS_NICE",
            command=f"{program} favoured 40000000",
            cause="user namespace",
            others=("network", "seccomp filter", "overlay"),
        ),
        Case(
            name="read-only root without effect",
            environment="podman read_only=true tmpfs=/var/tmp",
            command=f"{program} spin 40000000",
            cause="",
            others=("read-only root", "capabilities", "shared memory limit", "seccomp filter"),
        ),
    )


def _of_resources(program: str) -> tuple[Case, ...]:
    """Return the cases whose environments limit the resources of the program."""
    return (
        Case(
            name="quota 0.9",
            environment="native cpus=1 cpu_quota=0.9 huge_pages=false memory=1GiB",
            command=f"{program} spin 100000000",
            cause="CPU quota",
            others=("CPUs that it is held to", "small pages", "memory limit"),
        ),
        Case(
            name="memory limit below the working set",
            environment="container memory=64MiB",
            prepare="head -c 100000000 /dev/zero > data",
            command=f"{program} reads data 4",
            cause="memory limit",
            others=("network", "seccomp filter", "overlay"),
        ),
        Case(
            name="huge pages off",
            environment="bubblewrap huge_pages=false memory=1GiB cpu_quota=0.95",
            command=f"{program} pages 64 3",
            cause="small pages",
            others=("overlay", "memory limit", "CPU quota"),
        ),
        Case(
            name="pinned to one core",
            environment="container pin=[0]",
            command=f"{program} together 2 60000000",
            cause="CPUs that it is held to",
            others=("network", "seccomp filter", "overlay"),
        ),
        Case(
            name="cold page cache",
            environment="container page_cache=cold",
            prepare="head -c 100000000 /dev/zero > data",
            command=f"{program} reads data 1",
            cause="cold page cache",
            others=("network", "seccomp filter", "overlay"),
        ),
    )


@contextlib.contextmanager
def prepared(folder: Path) -> Iterator[Ground]:
    """Build the program, write the filter, open a socket on the host. Errors: MissingError."""
    program = folder / "planted"
    source = Path(__file__).with_name("planted.c")
    process.run(["cc", "-O2", "-static", "-o", str(program), str(source)], timeout_s=120)
    filter_file = folder / "filter.json"
    filter_file.write_text(json.dumps(_filter()), encoding="ascii")
    host = _address()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unread:
        unread.bind((host, 0))
        port = int(unread.getsockname()[1])
        yield Ground(program=program, filter=filter_file, host=host, port=port)


def _filter() -> dict[str, object]:
    """Return a filter that refuses only writes to descriptors which no program has."""
    rules = [
        {
            "names": ["write"],
            "action": "SCMP_ACT_ERRNO",
            "args": [{"index": 0, "value": 100_000 + number, "op": "SCMP_CMP_EQ"}],
        }
        for number in range(_RULES)
    ]
    return {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules}


def _address() -> str:
    """Return an address of this host that is no loopback: packets to it do not leave the host."""
    words = process.run(["hostname", "-I"]).stdout.split()
    found = [word for word in words if "." in word]
    if not found:
        raise MissingError(
            "this host has no address but loopback, and a bridged container cannot reach it",
            remedy="python -m benchmarks explain --only planted.seccomp ...",
        )
    return found[0]
