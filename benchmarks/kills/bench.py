"""SIGKILL `aferir measure` and `aferir gate` at random moments: nothing is left."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from aferir import registry
from aferir.environments.base import Environment
from aferir.linux import journal, process
from aferir.machine import packages
from aferir.model.bench import BenchResult, Figure
from aferir.selftest.leftovers import judge_leftovers, leftovers, own_state
from aferir.selftest.options import BenchOptions, Note
from benchmarks.parts import run_parts

HELP = "kills: SIGKILL at random moments of `aferir measure` in each kind, and of `aferir gate`"
PEERS = ()
SELECTABLE = True

_KILLS, _QUICK_KILLS = 10, 2
_LIMIT_S = 900.0
_AFERIR = (sys.executable, "-m", "aferir")
_PLACES: Mapping[str, tuple[str, str]] = {
    "native": ("native", ""),
    "chroot": ("chroot", ""),
    "bubblewrap": ("bubblewrap", ""),
    "nspawn": ("nspawn", ""),
    "charliecloud": ("charliecloud", ""),
    "apptainer": ("apptainer", ""),
    "container": ("container", ""),
    "podman": ("oci", ""),
    "bridged": ("oci", "network=podman"),
    "gvisor": ("oci", "runtime=runsc"),
    "docker": ("oci", "engine=docker"),
    "uml": ("uml", ""),
    "vm": ("vm", ""),
}
"""Kind and keys of each environment."""
_SERVICE = "(exec setsid sleep 86400) & echo up; exec sleep 86400"
_LOAD = "(exec setsid sleep 86400) & seq 1000 > numbers; sleep 0.2"
_BUILD = "(exec setsid sleep 86400) & cp bench built; sleep 0.5"
"""Shell commands, each of which leaves a process running that has lost its parent."""


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Run one part for each kind of environment, and one for the gate."""
    parts = {name: partial(_measured, name) for name in _PLACES} | {"gate": _gated}
    return run_parts("kills", parts, options, note)


def _measured(name: str, options: BenchOptions, note: Note) -> list[Figure]:
    """Kill the measurement of a service and its load in one kind of environment."""
    kind, keys = _PLACES[name]
    environment = registry.by_kind(kind)
    if why := _lacking(environment, keys):
        return [Figure(name=f"{name}.left_behind", value=None, unit="things", n=0, note=why)]
    environment.prepare()
    words = ["measure", "--new", "--in", f"{kind} cpus=1 memory='512 MiB' {keys}", "-n", "2"]
    words += ["--packages", "none", "--service", _SERVICE, "--ready", "line up"]
    words += ["--prepare", "echo before > file", "--script", _LOAD]
    if kind == "oci":
        return [_killed(name, words, options, note, more=_of_podman)]
    return [_killed(name, words, options, note)]


def _lacking(environment: Environment, keys: str) -> str:
    """Return why the environment is left out; empty if it is available."""
    findings = environment.check()
    missing = [one.message for one in findings if one.status == "missing"]
    if "runsc" in keys and packages.missing(["runsc"]):
        missing.append("runsc is not installed")
    if "docker" in keys:
        docker = [one for one in findings if one.subject == "oci docker"]
        missing += [one.message for one in docker if one.status != "ok"]
    return "; ".join(missing)


def _gated(options: BenchOptions, note: Note) -> list[Figure]:
    """Kill a gate that builds two revisions, and check the repository's worktrees as well."""

    def prepared(state: Path) -> list[str]:
        repository = state / "temporary" / "repository"
        repository.mkdir()
        _commit(repository, "sleep 0.05")
        _commit(repository, "sleep 0.1")
        words = ["gate", "--repository", str(repository), "--base", "HEAD~1", "--head", "HEAD"]
        return [*words, "--build", _BUILD, "--time", "10s", "-n", "20", "--", "sh", "built"]

    def left(state: Path) -> list[str]:
        repository = state / "temporary" / "repository"
        known = (repository / ".git").glob("worktrees/*")
        return [f"worktree {path.name}" for path in known]

    return [_killed("gate", prepared, options, note, more=left)]


def _commit(repository: Path, line: str) -> None:
    (repository / "bench").write_text(f"{line}\n", encoding="utf-8")
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", line]):
        process.run([*git, *words])


def _killed(
    name: str,
    words: Sequence[str] | Callable[[Path], Sequence[str]],
    options: BenchOptions,
    note: Note,
    *,
    more: Callable[[Path], list[str]] = lambda _: [],
) -> Figure:
    """Count what is left after kills at moments that are spread over a whole run."""
    draw = random.Random(f"{options.seed} {name}")  # noqa: S311 - not cryptography
    kills = _QUICK_KILLS if options.quick else _KILLS
    left: list[str] = []
    with own_state() as state:
        told = words(state) if callable(words) else words
        verb, *rest = told
        line = [*_AFERIR, verb, "--runs", str(state / "temporary" / "runs"), *rest]
        note(f"{name}: a whole run", 0.0)
        whole_s = _until(line, _LIMIT_S)
        for number in range(kills):
            note(f"{name}: kill {number + 1}", (number + 1) / (kills + 1))
            _until(line, draw.uniform(0.2, 1.0) * whole_s)
            process.run([*_AFERIR, "clean"], timeout_s=_LIMIT_S, check=False)
            left += [one for one in leftovers(state) if _is_left(one, state)] + more(state)
    return judge_leftovers(f"{name}.left_behind", left, kills)


def _is_left(thing: str, state: Path) -> bool:
    """Whether the thing is left over, and is not one of the bench's own folders."""
    kept = (state / "temporary" / "runs", state / "temporary" / "repository")
    return thing not in {f"file {path}" for path in kept}


def _of_podman(state: Path) -> list[str]:
    """List the containers and networks named after what this state folder's journal makes.

    Asked by an ordinary user, Podman leaves a process and files of its own, so no other kind asks.
    """
    if packages.missing(["podman"]):
        return []
    mark = re.compile(f"aferir-{journal.family(state)}")
    found = []
    for words in (["ps", "--all", "--format={{.Names}}"], ["network", "ls", "--format={{.Name}}"]):
        said = process.run(["podman", *words], timeout_s=_LIMIT_S, check=False).stdout
        found += [f"podman {words[0]} {name}" for name in said.split() if mark.search(name)]
    return found


def _until(line: Sequence[str], limit_s: float) -> float:
    """Run the command, kill it at that moment if it still runs, and return how long it took."""
    begun = time.monotonic()
    child = process.start(list(line), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=limit_s)
    if child.poll() is None:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    return time.monotonic() - begun
