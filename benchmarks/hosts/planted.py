"""Plant a slow host: eight agents on this machine, one of which does 5 % more work.

`aferir fleet` ranks them as a user would have hosts ranked. More work is planted because neither a
quota nor a lower frequency slows a program by a known share on a machine that others use.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import msgspec

from aferir.linux import process
from aferir.model.bench import Figure
from aferir.programs.kernels import kernel_path
from aferir.selftest.options import BenchOptions, Note

_HOSTS = 8
_TRIALS, _QUICK_TRIALS = 4, 1
_WORK = 200
"""Rounds of `peak-flops`, about 1 ms each for every instruction-set level."""
_VARIABLE = "PLANTED_ROUNDS"
_TIME_LIMIT_S = 3600.0


def planted(options: BenchOptions, note: Note) -> list[Figure]:
    """Rank fleets with and without a slow host; count how often it, and no other, is named."""
    trials = _QUICK_TRIALS if options.quick else _TRIALS
    right = {0: 0, 5: 0}
    said: dict[int, list[str]] = {0: [], 5: []}
    for k in range(trials):
        for percent in right:
            note(f"{percent} %, trial {k + 1} of {trials}", (k + (percent > 0) / 2) / trials)
            slow = 1 + k % _HOSTS
            named = _named(slow, percent)
            right[percent] += named == ({f"node{slow}"} if percent else set())
            said[percent].append(" ".join(sorted(named)) or "none")
    return [
        Figure(
            name=f"planted.{percent}_percent_right",
            value=float(count),
            unit="trials",
            n=trials,
            target=f">= {trials}",
            holds=count == trials,
            note=f"{_HOSTS} agents on this machine; named: {', '.join(said[percent])}; "
            f"load {os.getloadavg()[0]:.1f}",
        )
        for percent, count in right.items()
    ]


def _named(slow: int, percent: int) -> set[str]:
    """Hosts that are named if host `slow` does that much more work."""
    with tempfile.TemporaryDirectory(prefix="aferir-bench-planted-") as folder:
        file = Path(folder) / "hosts.toml"
        rounds = {k: _WORK * (100 + percent * (k == slow)) // 100 for k in range(1, _HOSTS + 1)}
        file.write_text(
            "".join(
                f'[[host]]\nname = "node{k}"\n'
                f'reach = "env AFERIR_STATE={folder}/{k} {_VARIABLE}={count}"\n'
                for k, count in rounds.items()
            ),
            encoding="utf-8",
        )
        command = f'exec {kernel_path("peak-flops")} --rounds "${_VARIABLE}"'
        line = [sys.executable, "-m", "aferir", "fleet", "--hosts", str(file)]
        line += ["--runs", f"{folder}/runs", "--json", "--", "sh", "-c", command]
        done = process.run(line, timeout_s=_TIME_LIMIT_S, check=False)
    found = msgspec.json.decode(done.stdout)
    standings = (one for group in found["groups"] for one in group["standings"])
    return {one["name"] for one in standings if one["differs"]}
