"""Parts of a valid experiment file to break, and a check that a broken one is refused."""

from __future__ import annotations

import pytest

from aferir.config import parse
from aferir.errors import UsageError
from aferir.model.plan import HostLimits
from aferir.registry import all_programs, kinds

Broken = tuple[str, str, str, str]
"""Content of a file, and the place, reason and remedy that the error must name."""
HOST = HostLimits(cpus=(0, 1), memory_bytes=4 * 2**30)

EXPERIMENT = '[experiment]\nname = "e"\n'
NATIVE = '[[environment]]\nname = "native"\nkind = "native"\n'
BOX = '[[environment]]\nname = "box"\nkind = "container"\n'
GUEST = '[[environment]]\nname = "guest"\nkind = "vm"\n'
EP = '[[workload]]\nname = "ep"\nprogram = "npb"\nkernel = "ep"\nclass = "S"\n'
LAB = '[[environment]]\nname = "lab"\nkind = "cluster"\n'
CG = '[[workload]]\nname = "cg"\nprogram = "npb-mpi"\nkernel = "cg"\nclass = "S"\n'
GOOD = EXPERIMENT + NATIVE + EP
LONG = "x" * 41


def refusal(content: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        parse(content.encode(), HOST, all_programs(), kinds())
    return caught.value


def check_refused(content: str, place: str, reason: str, remedy: str) -> None:
    """Check that a file is refused with exit code 2, and with all three in printable words."""
    error = refusal(content)
    text = f"{error.message}\n{error.remedy}"
    assert error.exit_code == 2
    assert place in text
    assert reason in text
    assert remedy in text
    assert all(line.isprintable() for line in text.split("\n"))
