"""The script of one measurement, for a shell here or in a guest, and its output; pure functions."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

import msgspec

from aferir.aggregation import programs, wiring
from aferir.aggregation.programs import Received, Sent
from aferir.errors import ProgramError, UnverifiedError
from aferir.model.network import Bonding, Event, Method, Mptcp, Network, Stream, Traffic, Tuning

PROGRAM = "network-stream"
_MARK = "== "


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement: network, method that aggregates the network's links, and traffic."""

    network: Network
    method: Method
    traffic: Traffic = Traffic()
    tuning: Tuning = Tuning()
    events: tuple[Event, ...] = ()


class Bond(msgspec.Struct, frozen=True):
    """State of a bond according to its driver."""

    mode: str
    up: bool
    links_up: int
    ports: int
    """Links in the active aggregator of 802.3ad; 0 in other modes."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Parsed output of one measurement."""

    streams: tuple[Stream, ...]
    sent: tuple[Sent, ...]
    received: tuple[Received, ...]
    link_sent: dict[str, int]
    """Bytes that each link of host1 sent during the measurement."""
    link_received: dict[str, int]
    dropped: int
    """Packets dropped at full queues of links."""
    bond: Bond | None


def script(task: Task, prefix: str, program: PurePosixPath, folder: PurePosixPath) -> str:
    """Shell script: create the network, send, remove it; stops at the first failure."""
    network, method = task.network, task.method
    made = wiring.make(network, method, task.tuning, prefix)
    host1 = f"{prefix}host1"
    lines = [
        "set -e",
        f"cd {shlex.quote(str(folder))}",
        f"trap {shlex.quote(remove(prefix))} EXIT",
        *(shlex.join(command) for command in made),
        f"sleep {wiring.settle_s(method)}",
    ]
    if isinstance(method, Bonding):
        lines += show("bond", f"ip netns exec {host1} cat /proc/net/bonding/{wiring.BOND}")
    lines += show("links-before", f"ip netns exec {host1} cat /proc/net/dev")
    lines += _streams(task, prefix, str(program))
    lines += show("links-after", f"ip netns exec {host1} cat /proc/net/dev")
    for host in wiring.hosts(network):
        lines += show("queues", f"tc -n {prefix}{host} -s -j qdisc show")
    return "\n".join(lines) + "\n"


def receiving(task: Task, prefix: str, program: PurePosixPath, folder: PurePosixPath) -> str:
    """Script for host2 in a kernel of its own.

    It creates the host and starts the receivers, which outlive the script.
    """
    by = programs.commands(task.traffic, str(program), mptcp=isinstance(task.method, Mptcp))
    lines = _end(task, prefix, 2, folder)
    streams = wiring.streams(task.network, task.method, task.traffic)
    for number, stream in enumerate(streams):
        receive = f"ip netns exec {prefix}{stream.receiver} {by.receive(stream, number)}"
        lines.append(f"({receive} > receive.{number}; : > done.{number}) > /dev/null 2>&1 &")
    lines += _await([by.ready(stream, n, "") for n, stream in enumerate(streams)])
    return "\n".join(lines) + "\n"


def made_to_send(task: Task, prefix: str, folder: PurePosixPath) -> str:
    """Script for host1 in a kernel of its own: create the host, and read its link counters."""
    host1 = f"{prefix}host1"
    lines = [*_end(task, prefix, 1, folder), f"sleep {wiring.settle_s(task.method)}"]
    if isinstance(task.method, Bonding):
        lines += show("bond", f"ip netns exec {host1} cat /proc/net/bonding/{wiring.BOND}")
    lines += show("links-before", f"ip netns exec {host1} cat /proc/net/dev")
    return "\n".join(lines) + "\n"


def sending(task: Task, prefix: str, program: PurePosixPath, folder: PurePosixPath) -> str:
    """Script for host1 in a kernel of its own: send, and read the counters."""
    by = programs.commands(task.traffic, str(program), mptcp=isinstance(task.method, Mptcp))
    lines = ["set -e", f"cd {shlex.quote(str(folder))}"]
    streams = wiring.streams(task.network, task.method, task.traffic)
    for number, stream in enumerate(streams):
        send = f"ip netns exec {prefix}{stream.sender} {by.send(stream)}"
        lines.append(f"{send} > send.{number} &")
    lines.append("wait")
    for number in range(len(streams)):
        lines += show("send", f"cat send.{number}")
    lines += show("links-after", f"ip netns exec {prefix}host1 cat /proc/net/dev")
    lines += show("queues", f"tc -n {prefix}host1 -s -j qdisc show")
    return "\n".join(lines) + "\n"


def received(task: Task, prefix: str, folder: PurePosixPath) -> str:
    """Script for host2 in a kernel of its own: print what was received."""
    streams = range(len(wiring.streams(task.network, task.method, task.traffic)))
    lines = [f"cd {shlex.quote(str(folder))}", *_await([f"[ -e done.{n} ]" for n in streams])]
    for number in streams:
        lines += show("receive", f"cat receive.{number}")
    lines += show("queues", f"tc -n {prefix}host2 -s -j qdisc show")
    return "\n".join(lines) + "\n"


def left_for_next(task: Task, prefix: str) -> str:
    """Script for a host in a kernel of its own: remove everything, and wait for its interfaces."""
    links = [f"[ -e /sys/class/net/{name} ]" for name in wiring.links(task.network)]
    return "\n".join(["cd /run", "rm -f done.*", remove(prefix), *_await(links)]) + "\n"


def _end(task: Task, prefix: str, host: int, folder: PurePosixPath) -> list[str]:
    made = wiring.make_end(task.network, task.method, task.tuning, prefix, host)
    return ["set -e", f"cd {shlex.quote(str(folder))}", *(shlex.join(c) for c in made)]


def _await(conditions: Sequence[str]) -> list[str]:
    """Shell commands that wait up to 10 s for each condition."""
    return [
        f"i=0; until {condition} || [ $i -gt 500 ]; do sleep 0.02; i=$((i+1)); done"
        for condition in conditions
    ]


def remove(prefix: str) -> str:
    """Shell commands that remove what a script created, even if it is still in use.

    An interface exists until nothing refers to it; its name is free at once.
    """
    each = f"for n in $(ls /run/netns | grep ^{prefix}); do ip netns del $n; done"
    return f"rm -f ready.* send.* receive.*; {each}"


def show(name: str, command: str) -> list[str]:
    """Shell commands that print one part of the output, delimited for `split`."""
    return [f"echo '{_MARK}{name}'", command, "echo"]


def _streams(task: Task, prefix: str, program: str) -> list[str]:
    streams = wiring.streams(task.network, task.method, task.traffic)
    by = programs.commands(task.traffic, program, mptcp=isinstance(task.method, Mptcp))
    lines = by.prepare(prefix)
    for number, stream in enumerate(streams):
        inside = f"ip netns exec {prefix}{stream.receiver}"
        lines.append(f"{inside} {by.receive(stream, number)} > receive.{number} &")
    lines += _await(
        [
            by.ready(stream, number, f"ip netns exec {prefix}{stream.receiver}")
            for number, stream in enumerate(streams)
        ]
    )
    lines += _events(task, prefix)
    for number, stream in enumerate(streams):
        inside = f"ip netns exec {prefix}{stream.sender}"
        lines.append(f"{inside} {by.send(stream)} > send.{number} &")
    lines.append("wait")
    for number in range(len(streams)):
        lines += show("send", f"cat send.{number}")
        lines += show("receive", f"cat receive.{number}")
    return lines


def _events(task: Task, prefix: str) -> list[str]:
    if not task.events:
        return []
    steps = []
    now = 0.0
    for event in sorted(task.events, key=lambda event: event.at_s):
        command = wiring.change(task.network, task.method, event, prefix)
        steps.append(f"sleep {event.at_s - now:.3f}; {shlex.join(command)}")
        now = event.at_s
    return [f"( {'; '.join(steps)} ) &"]


def read(printed: str, task: Task) -> Outcome:
    """Parse a script's output.

    Errors: UnverifiedError if a byte was lost or changed, ProgramError if the output cannot be
    parsed or a program failed.
    """
    parts = split(printed)
    by = programs.commands(task.traffic, PROGRAM, mptcp=False)
    printed_ends = zip(parts.get("send", []), parts.get("receive", []), strict=True)
    both = [by.ends(sender, receiver) for sender, receiver in printed_ends]
    sent, received = tuple(end for end, _ in both), tuple(end for _, end in both)
    ends: list[Sent | Received] = [*sent, *received]
    for end in ends:
        if end.error:
            raise ProgramError(f"{task.traffic.program}: {end.error}")
        if not end.verified:
            raise UnverifiedError(f"{PROGRAM}: bytes did not arrive as they were sent")
    streams = wiring.streams(task.network, task.method, task.traffic)
    if len(both) != len(streams):
        raise ProgramError(f"{PROGRAM}: {len(streams)} streams printed {len(both)} results")
    link_sent, link_received = links_grown(parts, task.network)
    return Outcome(
        streams=tuple(streams),
        sent=sent,
        received=received,
        link_received=link_received,
        link_sent=link_sent,
        dropped=sum(_dropped(text) for text in parts.get("queues", [])),
        bond=parse_bond(parts["bond"][0]) if "bond" in parts else None,
    )


def parse_links(text: str) -> dict[str, tuple[int, int]]:
    """Received and sent bytes of each interface, from the text of /proc/net/dev (proc(5))."""
    found = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        fields = rest.split()
        if colon and len(fields) >= 9 and fields[0].isdecimal() and fields[8].isdecimal():
            found[name.strip()] = (int(fields[0]), int(fields[8]))
    return found


def links_grown(
    parts: Mapping[str, Sequence[str]], network: Network
) -> tuple[dict[str, int], dict[str, int]]:
    """Bytes that each link of host1 sent, and received, between the two readings."""
    before, after = (
        parse_links(parts.get(f"links-{when}", [""])[0]) for when in ("before", "after")
    )
    zero = (0, 0)
    received, sent = (
        {
            name: after.get(name, zero)[way] - before.get(name, zero)[way]
            for name in wiring.links(network)
        }
        for way in (0, 1)
    )
    return sent, received


def parse_bond(text: str) -> Bond:
    """Parse /proc/net/bonding/NAME: the bond first, then a section for each of its links."""
    sections = [_fields(section) for section in text.split("Slave Interface:")]
    head = sections[0]
    word = head.get("Bonding Mode", "")
    known = {words: mode for mode, words in _MODE_WORDS.items()}
    ports = head.get("Number of ports", "0")
    return Bond(
        mode=next((mode for words, mode in known.items() if word.startswith(words)), word),
        up=head.get("MII Status") == "up",
        links_up=sum(section.get("MII Status") == "up" for section in sections[1:]),
        ports=int(ports) if ports.isdecimal() else 0,
    )


_MODE_WORDS = {
    "balance-rr": "load balancing (round-robin)",
    "active-backup": "fault-tolerance (active-backup)",
    "balance-xor": "load balancing (xor)",
    "broadcast": "fault-tolerance (broadcast)",
    "802.3ad": "IEEE 802.3ad Dynamic link aggregation",
    "balance-tlb": "transmit load balancing",
    "balance-alb": "adaptive load balancing",
}
"""Names by which the driver reports the modes (drivers/net/bonding/bond_main.c)."""


def _fields(section: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in section.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            found.setdefault(key.strip(), value.strip())
    return found


def split(printed: str) -> Mapping[str, Sequence[str]]:
    """Parts of an output by name, in order."""
    parts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in printed.splitlines():
        if line.startswith(_MARK):
            current = parts.setdefault(line.removeprefix(_MARK), [])
            current.append("")
        elif current:
            current[-1] += line + "\n"
    return parts


def _dropped(text: str) -> int:
    try:
        queues = msgspec.json.decode(text.strip() or b"[]", type=list[dict[str, object]])
    except msgspec.DecodeError:
        return 0
    drops = (queue.get("drops") for queue in queues if queue.get("kind") == "tbf")
    return sum(drop for drop in drops if isinstance(drop, int))
