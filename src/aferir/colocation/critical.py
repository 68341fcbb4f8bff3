"""Which threads of a service answer its requests.

Known by name (Java's full one, or the kernel's first 15 characters), or learnt: CPU use of the
threads that serve rises with the rate of requests. The kernel's name of a Java thread is cut, by
JDK 22 and later in the middle (`Dispatc..read21`), so full names are asked of the JVM.
"""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from aferir import process
from aferir.errors import AferirError, UsageError

_JSTACK_S = 10.0
_JAVA_THREAD = re.compile(r'^"(?P<name>.*)" .*\bnid=(?P<nid>0x[0-9a-f]+|\d+)\b', re.MULTILINE)
_SIGQUIT = 3
_FEWEST = 10
"""Looks at CPU use and rate before anything is learnt from them."""
_CLEARLY = 0.3
"""Lower end of the correlation's 95 % interval from which on a thread is taken to serve."""
_LEAST_SHARE = 0.01
"""Of the service's CPU use; what uses less cannot delay an answer by much."""


class Selector(msgspec.Struct, frozen=True, kw_only=True):
    """Which threads are critical; with nothing given they are learnt."""

    names: tuple[str, ...] = ()
    """Regular expressions, searched in the name that the kernel knows (15 characters)."""
    java: tuple[str, ...] = ()
    """Regular expressions, searched in Java's full name."""
    all: bool = False
    """Every thread of the service."""

    @property
    def learns(self) -> bool:
        """Whether nothing was said."""
        return not (self.names or self.java or self.all)


def check(selector: Selector) -> None:
    """Errors: UsageError where an expression is none."""
    for text in (*selector.names, *selector.java):
        try:
            re.compile(text)
        except re.error as error:
            raise UsageError(
                f"`{text}` is no regular expression: {error}",
                remedy="e.g. 'search' or '^http-nio'",
            ) from None


def by_name(
    selector: Selector, names: Mapping[int, str], java_names: Mapping[int, str]
) -> frozenset[int]:
    """Threads (tid to name) that the selector names."""
    if selector.all:
        return frozenset(names)
    kernel = [re.compile(text) for text in selector.names]
    java = [re.compile(text) for text in selector.java]
    return frozenset(
        tid
        for tid, name in names.items()
        if any(pattern.search(name) for pattern in kernel)
        or any(pattern.search(java_names.get(tid, "")) for pattern in java)
    )


def parse_jstack(text: str) -> dict[int, str]:
    """Thread number to Java's full name; `nid` is hexadecimal up to JDK 20, decimal after."""
    return {int(found["nid"], 0): found["name"] for found in _JAVA_THREAD.finditer(text)}


def java_names(pid: int) -> dict[int, str]:
    """Full names of the threads of a JVM, asked as the user that it runs as; {} where it is none.

    Takes 0.2 to 0.4 s of another process. It sends SIGQUIT, which ends what does not catch it.
    """
    jstack = shutil.which("jstack")
    if jstack is None or not catches_quit(pid):
        return {}
    try:
        user = Path(f"/proc/{pid}").stat()
        as_user = ["setpriv", f"--reuid={user.st_uid}", f"--regid={user.st_gid}", "--clear-groups"]
        command = [jstack, str(pid)]
        mine = user.st_uid == os.geteuid()
        done = process.run(
            command if mine else [*as_user, *command], timeout_s=_JSTACK_S, check=False
        )
    except (OSError, AferirError):
        return {}
    return parse_jstack(done.stdout)


def catches_quit(pid: int) -> bool:
    """Whether a process is a JVM that answers SIGQUIT rather than die of it."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
        maps = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    found = re.search(r"^SigCgt:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return "libjvm.so" in maps and bool(found and int(found[1], 16) >> (_SIGQUIT - 1) & 1)


def stem(name: str) -> str:
    """Name of the pool that a thread belongs to: numbers taken out."""
    return re.sub(r"\d+", "#", name)


def learn(
    names: Mapping[int, str], used: Mapping[int, Sequence[float]], rates: Sequence[float]
) -> frozenset[int]:
    """Threads whose CPU use rises with the request rate; pools of one name are judged as one.

    `used`: tid to CPU seconds per second in each of the same periods as `rates` (1/s). Nothing is
    learnt from fewer than ten periods, or from a rate that never changes.
    """
    if len(rates) < _FEWEST:
        return frozenset()
    pools: dict[str, list[int]] = {}
    for tid in used:
        pools.setdefault(stem(names.get(tid, str(tid))), []).append(tid)
    total = sum(map(sum, used.values()))
    critical: set[int] = set()
    for members in pools.values():
        pool = [sum(values) for values in zip(*(used[tid] for tid in members), strict=True)]
        if sum(pool) >= _LEAST_SHARE * total and _lower_correlation(pool, rates) > _CLEARLY:
            critical.update(members)
    return frozenset(critical)


def _lower_correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Lower end of the 95 % interval of Pearson's r, by Fisher's transformation; -1: no spread."""
    n = len(x)
    mean_x, mean_y = sum(x) / n, sum(y) / n
    spread_x = math.sqrt(sum((a - mean_x) ** 2 for a in x))
    spread_y = math.sqrt(sum((b - mean_y) ** 2 for b in y))
    if spread_x <= 1e-12 * abs(mean_x) * n or spread_y <= 1e-12 * abs(mean_y) * n:
        return -1.0
    r = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread_x / spread_y
    return math.tanh(math.atanh(min(max(r, -0.999999), 0.999999)) - 1.96 / math.sqrt(n - 3))
