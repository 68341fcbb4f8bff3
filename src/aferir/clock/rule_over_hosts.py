"""The study `rule` over several hosts: a server on the first, and a client on each of the others.

The true difference of the hosts' clocks is unknown. Each client says how many messages its looks
took, their round trips and bounds, and how many stamped messages were out of order.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from aferir.model.record import Sample, Series
from aferir.programs.base import Command

_SCRIPT = """
set -- $AFERIR_HOSTS
shift
clients={clients} first=${{AFERIR_ADDRESSES%% *}} here=$AFERIR_PROGRAMS jobs= names=
if [ $# -lt $clients ]; then
  echo "each of $clients clients takes a host, and the server one more" >&2; exit 1
fi
rm -f "$here/port"
"$here/{program}" rule-server --address "$first" {server} > "$here/port" &
server=$!
trap 'kill $server' EXIT
until [ -s "$here/port" ]; do kill -0 $server || exit 1; sleep 0.1; done
port=$(cat "$here/port")
for host; do
  [ $clients -gt 0 ] || break
  clients=$((clients - 1))
  line="exec \\"\\$AFERIR_PROGRAMS/{program}\\" rule-client --address $first --port $port {client}"
  "$AFERIR_ENTER" "$host" "$line" > "$here/seen-$host" &
  jobs="$jobs $!" names="$names $host"
done
for job in $jobs; do wait "$job"; done
for host in $names; do echo "client $host"; cat "$here/seen-$host"; done
"""
"""Shell commands on the first host; {...} are filled by `command`."""
_TOGETHER: Mapping[str, Callable[[Sequence[float]], float]] = {
    "exchanges_most": max,
    "looks_at_limit": sum,
    "looks_unanswered": sum,
    "round_trip_least_s": min,
    "error_bound_largest_s": max,
    "messages": sum,
    "messages_out_of_order": sum,
}
"""How a figure of all clients comes from those of each; of the others it is their mean."""


def command(
    program: Path, clients: int, *, server: Sequence[str], client: Sequence[str]
) -> Command:
    """Command that runs server and clients with these options."""
    script = _SCRIPT.format(
        clients=clients,
        program=program.name,
        server=shlex.join(server),
        client=shlex.join(client),
    )
    return Command(Path("/bin/sh"), ("-ec", script), files=(program,))


def by_client(stdout: str) -> dict[str, str]:
    """What each client printed, by the name of its host; {} if the study was on one host."""
    parts = re.split(r"^client (\S+)$", stdout, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def samples_together(each: Sequence[Sequence[Sample]]) -> tuple[Sample, ...]:
    """One figure of all clients for each that the first one has."""
    found: dict[str, list[float]] = {}
    for samples in each:
        for one in samples:
            found.setdefault(one.metric, []).append(one.value)
    return tuple(
        msgspec.structs.replace(one, value=_TOGETHER.get(one.metric, _mean)(found[one.metric]))
        for one in each[0]
    )


def labelled(each: Mapping[str, Sequence[Series]]) -> tuple[Series, ...]:
    """Curves of all clients, with the names of their hosts."""
    return tuple(
        msgspec.structs.replace(series, label=name)
        for name, curves in each.items()
        for series in curves
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
