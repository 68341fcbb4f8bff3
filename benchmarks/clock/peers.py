"""Run chronyd and ptp4l on the same veth pair, and read their offsets; the true offset is 0.

Neither adjusts a clock: `chronyd -x`, and ptp4l with `free_running`. Both use the kernel's software
time stamps, as ours does. Both keep exchanging messages: they report the estimate of a daemon that
has been running for seconds, while ours is the estimate of one look.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from aferir.errors import AferirError, ProgramError
from aferir.linux import process
from aferir.linux.namespace import Pair
from aferir.linux.undo import MARK
from aferir.selftest.options import Note
from benchmarks.clock.judge import PeerErrors

PEERS = ("chronyd", "ptp4l")

_WATCH_S, _QUICK_WATCH_S = 20.0, 5.0
_SETTLE_S = 2.0
"""Time in s whose offsets are left out at the beginning: a daemon must find its server first."""

_CHRONYD_SERVER = """
local stratum 1
allow
cmdport 0
bindcmdaddress /
pidfile {folder}/server.pid
"""
_CHRONYD_CLIENT = """
server {address} minpoll -6 maxpoll -6 xleave
cmdport 0
bindcmdaddress /
pidfile {folder}/client.pid
logdir {folder}
log statistics
"""
# Which one serves is said by the priority: the option's name has changed between versions. A
# free-running ptp4l reports when it estimates the rate, at most each second.
_PTP4L = """
[global]
free_running 1
time_stamping software
priority1 {priority}
logSyncInterval -4
logMinDelayReqInterval -4
logAnnounceInterval -2
summary_interval -4
freq_est_interval 0
uds_address {folder}/{end}.uds
[{interface}]
"""


def measure_peers(
    pair: Pair, peers: Mapping[str, Path], *, quick: bool, note: Note
) -> dict[str, PeerErrors]:
    """Measure each peer that was named; a peer that fails says why."""
    found = {}
    watch_s = _QUICK_WATCH_S if quick else _WATCH_S
    for name, program in peers.items():
        note(f"{name} on the same pair", 0.55)
        folder = pair.folder / name
        try:
            folder.mkdir()
            ask = _chronyd if name == "chronyd" else _ptp4l
            found[name] = PeerErrors(offsets_ns=ask(pair, program, folder, watch_s))
        except (AferirError, OSError) as error:
            found[name] = PeerErrors(offsets_ns=(), problem=str(error))
    return found


def parse_chronyd(text: str) -> list[float]:
    """Parse the estimated offsets of statistics.log, in nanoseconds (chrony.conf(5), `log`)."""
    line = r"^[-\d]+ [:\d]+ +\S+ +\S+ +(-?\d\.\d+e[+-]\d+) "
    return [float(offset) * 1e9 for offset in re.findall(line, text, re.MULTILINE)]


def parse_ptp4l(text: str) -> list[float]:
    """Parse offsets from the master in nanoseconds; summaries hold root mean squares instead."""
    return [float(offset) for offset in re.findall(r"\b(?:offset|rms) +(-?\d+) ", text)]


def _chronyd(pair: Pair, program: Path, folder: Path, watch_s: float) -> tuple[float, ...]:
    settings = {"folder": folder, "address": pair.server_address}
    commands = []
    for end, text in (("server", _CHRONYD_SERVER), ("client", _CHRONYD_CLIENT)):
        path = folder / f"{end}.conf"
        path.write_text(text.format(**settings), encoding="utf-8")
        commands.append([str(program), "-x", "-d", "-u", "root", "-f", str(path)])
    _, settled = _watch(pair, commands, watch_s)
    log = folder / "statistics.log"
    if not log.exists():
        raise ProgramError(f"{program} kept no statistics: did it start?")
    text = log.read_text(encoding="utf-8", errors="replace")
    return _settled(parse_chronyd(text), settled)


def _ptp4l(pair: Pair, program: Path, folder: Path, watch_s: float) -> tuple[float, ...]:
    commands = []
    for end, priority in (("server", 1), ("client", 255)):
        path = folder / f"{end}.conf"
        text = _PTP4L.format(priority=priority, folder=folder, end=end, interface=pair.interface)
        path.write_text(text, encoding="utf-8")
        commands.append([str(program), "-m", "-q", "-f", str(path)])
    printed, settled = _watch(pair, commands, watch_s)
    return _settled(parse_ptp4l(printed), settled)


def _settled(offsets: list[float], share: float) -> tuple[float, ...]:
    """Leave out the share of offsets that were reported before the daemon had settled."""
    return tuple(offsets[int(len(offsets) * share) :])


def _watch(pair: Pair, commands: list[list[str]], watch_s: float) -> tuple[str, float]:
    """Run server and client; return what the client printed, and the share of time to settle."""
    children: list[subprocess.Popen[str]] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        try:
            for name, command in zip((pair.server, pair.client), commands, strict=True):
                children.append(
                    process.start(
                        ["ip", "netns", "exec", name, *command],
                        stdout=printed.fileno() if name == pair.client else subprocess.DEVNULL,
                        environment={MARK: pair.mark},
                    )
                )
            time.sleep(_SETTLE_S + watch_s)
        finally:
            for child in children:
                process.end(child)
        printed.seek(0)
        return printed.read(), _SETTLE_S / (_SETTLE_S + watch_s)
