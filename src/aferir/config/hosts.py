"""Reads `[[host]]` tables: how other hosts are reached."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from aferir.clouds.providers import read_wanted
from aferir.config.fields import Fields, Name, is_table
from aferir.config.problems import Problems
from aferir.errors import UsageError
from aferir.model.cloud import Wanted
from aferir.model.host import ADDRESS, HostSpec, Price
from aferir.model.parameters import size, text, told, whole
from aferir.model.plan import HostLimits
from aferir.power.sources import PATTERN, PowerSource

MOST_HOSTS = 1000


def words(written: str) -> tuple[str, ...]:
    """Words of a command. Errors: ValueError if it is empty, or not quoted as for a shell."""
    words = tuple(shlex.split(written))
    if not words:
        raise ValueError("is not the command that reaches the host")
    return words


def instances(written: str) -> Wanted:
    """Instances that a file describes. Errors: ValueError that says what is wrong with it."""
    try:
        found = read_wanted(Path(written))
    except UsageError as error:
        raise ValueError(f"does not say which instances: {error.message}") from None
    if found.source:
        raise ValueError("names the `source` of a video, which hosts do not send: give `user_data`")
    return found


def price(written: str) -> Price:
    """Parse a price such as `0.04 EUR`. Errors: ValueError if it is anything else."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ([A-Z]{3})", written)
    if found is None or float(found[1]) <= 0.0:
        raise ValueError("is no price of an hour")
    return Price(float(found[1]), found[2])


def power_source(written: str) -> str:
    """Check the name of a source of power. Errors: ValueError that says what is wrong."""
    return str(PowerSource.parse(written))


PowerKey = (
    Annotated[
        str,
        text(
            "source of its power as it is read there, which gives joules of each repetition",
            "rapl",
            parse=power_source,
            pattern=PATTERN,
            unset="none is read",
        ),
    ]
    | None
)
PriceKey = (
    Annotated[
        Price,
        text(
            "price of an hour there, which gives the cost of each repetition",
            "0.04 EUR",
            parse=price,
            unset="repetitions have no cost",
        ),
    ]
    | None
)


class HostKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of a `[[host]]` table."""

    name: Annotated[
        Name, told("name of the host, by which the key `host` of an environment refers to it")
    ]
    reach: Annotated[
        str,
        text(
            "command that starts a shell there and passes on its standard input and output",
            "ssh node1",
            parse=words,
            quoted=True,
        ),
    ]
    power: PowerKey = None
    cloud: (
        Annotated[
            Wanted,
            text(
                "file that says which instances of which cloud; each environment on this host has "
                "one of its own, at `{address}` of `reach`",
                "my-cloud.toml",
                parse=instances,
                unset="the host is there already",
            ),
        ]
        | None
    ) = None
    price_per_hour: PriceKey = None
    sudo: Annotated[bool, told("whether the agent becomes root by `sudo -n`")] = False
    cpus: (
        Annotated[int, whole("CPUs that may be used there, at most", 1, 4096, unset="all found")]
        | None
    ) = None
    memory_bytes: (
        Annotated[
            int,
            size(
                *("memory that may be used there, at most", 1, 2**62),
                bare=False,
                unset="all found",
                key="memory",
            ),
        ]
        | None
    ) = None


def hosts_of(content: bytes, *, source: str) -> tuple[HostSpec, ...]:
    """Hosts of an experiment file, or of a file with hosts alone.

    Errors: UsageError with all errors in them.
    """
    try:
        document = tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as reason:
        raise UsageError(f"{source} is not TOML: {reason}", remedy="mend that place") from None
    problems = Problems()
    found = read_hosts(document, problems)
    if problems.found:
        raise problems.error(source)
    return found


def with_hosts(experiment: bytes, more: bytes, *, source: str) -> bytes:
    """Append the hosts of another file, `source`, to an experiment file.

    Errors: UsageError if that file contains anything else, or invalid hosts.
    """
    hosts_of(more, source=source)
    if other := sorted(tomllib.loads(more.decode("utf-8")).keys() - {"host"}):
        raise UsageError(
            f"{source} has {other[0]} besides its hosts", remedy="keep [[host]] alone in it"
        )
    return experiment + b"\n" + more


def capped(found: HostLimits, host: HostSpec) -> HostLimits:
    """Resources of a host, reduced to what the file permits to use."""
    cpus = found.cpus if host.cpus is None else found.cpus[: host.cpus]
    memory_bytes = min(found.memory_bytes, host.memory_bytes or found.memory_bytes)
    return msgspec.structs.replace(found, cpus=cpus, memory_bytes=memory_bytes)


def read_hosts(document: Mapping[str, object], problems: Problems) -> tuple[HostSpec, ...]:
    """Valid hosts, in the order of the file."""
    tables = document.get("host", [])
    if not isinstance(tables, list):
        problems.add("host", "is not a list of tables", "write [[host]] with two brackets")
        return ()
    if len(tables) > MOST_HOSTS:
        problems.add("host", f"there are {len(tables)}", f"keep at most {MOST_HOSTS} of them")
        return ()
    found: dict[str, HostSpec] = {}
    for place, table in enumerate(tables, start=1):
        path = f"host[{place}]"
        if not is_table(table):
            problems.add(path, "is not a table", "write a [[host]] table")
            continue
        host = _read(table, path, problems)
        if host is not None and host.name in found:
            problems.add(f"{path}.name", f"`{host.name}` is there twice", "give it another name")
        elif host is not None:
            found[host.name] = host
    return tuple(found.values())


def _read(table: Mapping[str, object], path: str, problems: Problems) -> HostSpec | None:
    found = Fields(table, path, problems).read(HostKeys)
    found = {key: value for key, value in found.items() if value is not None}
    if not found.keys() >= {"name", "reach"}:
        return None
    host = HostSpec(**found)
    if ("cloud" in table) != any(ADDRESS in word for word in host.reach):
        remedy = f'write reach = "ssh root@{ADDRESS}" with `cloud`, and without it the host\'s name'
        problems.add(f"{path}.reach", f"{ADDRESS} and `cloud` belong together", remedy)
        return None
    return host
