"""`[[host]]` tables: how other hosts are reached."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping

from aferir.config.fields import Fields, is_table
from aferir.config.problems import Problems
from aferir.errors import UsageError
from aferir.model.host import HostSpec

MOST_HOSTS = 1000
_KEYS = ("name", "reach", "sudo")


def hosts_of(content: bytes, *, source: str) -> tuple[HostSpec, ...]:
    """Read the hosts of an experiment file, or of a file with nothing else.

    Errors: UsageError with all that is wrong with them.
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


def read_hosts(document: Mapping[str, object], problems: Problems) -> tuple[HostSpec, ...]:
    """Those that are right, in the order of the file."""
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
    fields = Fields(table, path, problems)
    fields.only(_KEYS)
    name = fields.name("name", 'name = "node1"')
    reach = _command(fields)
    sudo = fields.flag("sudo") or False
    return HostSpec(name=name, reach=reach, sudo=sudo) if name and reach else None


def _command(fields: Fields) -> tuple[str, ...]:
    """As one text, split as a shell would, or as a list of words."""
    value = fields.table.get("reach")
    remedy = 'write e.g. `reach = "ssh node1"`'
    words: list[str] = []
    if isinstance(value, str):
        try:
            words = shlex.split(value)
        except ValueError as error:
            fields.wrong("reach", f"is no command: {error}", remedy)
            return ()
    elif isinstance(value, list) and all(isinstance(word, str) for word in value):
        words = [str(word) for word in value]
    if not words or not all(words) or not all(word.isprintable() for word in words):
        fields.wrong("reach", "is not the command that reaches the host", remedy)
        return ()
    return tuple(words)
