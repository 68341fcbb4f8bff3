"""Starts Elasticsearch or OpenSearch on the loopback interface, and sends requests to it."""

from __future__ import annotations

import http.client
import json
import os
import pwd
import re
import shutil
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from aferir.colocation.trials.service import LOOPBACK, USER, as_user, wait_for
from aferir.errors import MissingError, ProgramError
from aferir.linux import ports, process, scratch, wait
from aferir.machine import packages
from aferir.programs.stores import jars

_STARTING_S = 300.0
_ANSWERS_S = 300.0
_ENDING_S = 30.0
_GONE = re.compile(r"ConcMarkSweep|CMS|PrintGC|PrintTenuring|GCLog|Xlog|Xms|Xmx|PreTouch|HeapDump")
"""JVM options of the shipped files that current Java versions reject, or that are set here."""
_HEAP = "1g"
_TRACELESS = "-XX:-UsePerfData"
"""JVM option without which a JVM leaves a folder of performance data in /tmp."""


class Engine(msgspec.Struct, frozen=True):
    """Properties of one of the two search engines."""

    name: str
    prefix: str
    """Prefix of the environment variables that the search engine reads."""
    documents: str
    """Path for bulk requests to the index `texts`. Elasticsearch 7 removed document types, which
    earlier versions need in the path."""


ENGINES: Mapping[str, Engine] = MappingProxyType(
    {
        "elasticsearch": Engine("elasticsearch", "ES", "/texts/text/_bulk"),
        "opensearch": Engine("opensearch", "OPENSEARCH", "/texts/_bulk"),
    }
)


class Started(msgspec.Struct, frozen=True):
    """A running search engine."""

    pid: int
    port: int
    slow_log: Path


def unpack(engine: Engine, folder: Path) -> Path:
    """Unpack the engine's files below `folder`. Errors: MissingError if they were not fetched."""
    with tarfile.open(jars.find(engine.name)) as outer:
        for member in outer.getmembers():
            if member.name.endswith(".zip") and (packed := outer.extractfile(member)):
                with packed, zipfile.ZipFile(packed) as archive:
                    archive.extractall(folder)  # noqa: S202 - its checksum is pinned
    return next(folder.glob(f"{engine.name}-*"))


@contextmanager
def started(engine: Engine, home: Path, data: Path) -> Iterator[Started]:
    """Start an engine that listens on the loopback interface only; it is shut down afterwards.

    Errors: MissingError if Java is not installed, RefusedError if `home` is closed to the user as
    whom the engine runs, ProgramError if the engine does not start.
    """
    if absent := packages.missing(("java", "setpriv", "bash")):
        raise MissingError(
            f"{engine.name} needs {', '.join(absent)}", remedy=packages.install_command(absent)
        )
    scratch.require_open(home)
    logs = home / "logs"
    with ports.reserved() as port, ports.reserved() as transport:
        configuration = _configure(engine, home, data, port, transport)
        user = pwd.getpwnam(USER)
        for folder in (logs, data, configuration):
            folder.mkdir(exist_ok=True)
            _give(folder, user)
        said = home / "said"
        with said.open("w", encoding="utf-8") as file:
            child = process.start(
                [*as_user(), "bash", str(home / "bin" / engine.name)],
                stdout=file.fileno(),
                stderr=file.fileno(),
                directory=home,
                environment={
                    f"{engine.prefix}_PATH_CONF": str(configuration),
                    f"{engine.prefix}_TMPDIR": str(logs),
                    "JAVA_HOME": _java_home(),
                    "JDK_JAVA_OPTIONS": _TRACELESS,  # of the JVMs that its script starts before it
                },
            )
        try:
            wait_for(child, port, lambda: said.read_text(encoding="utf-8"), _STARTING_S)
            _wait_for_health(port)
            yield Started(child.pid, port, logs / "aferir_index_search_slowlog.log")
        finally:
            process.end(child, grace_s=_ENDING_S)


def ask(port: int, method: str, path: str, body: str = "") -> Any:
    """The decoded JSON of a response. Errors: ProgramError."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=_ANSWERS_S)
    kind = "application/x-ndjson" if path.endswith("_bulk") else "application/json"
    try:
        connection.request(method, path, body.encode() or None, {"Content-Type": kind})
        answer = connection.getresponse()
        content = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise ProgramError(f"the search engine does not answer {path}: {error}") from None
    finally:
        connection.close()
    if not 200 <= answer.status < 300:
        told = content[:300].decode("utf-8", "replace")
        raise ProgramError(f"the search engine refuses {path} with {answer.status}: {told}")
    return json.loads(content)


def _configure(engine: Engine, home: Path, data: Path, port: int, transport: int) -> Path:
    """Configure the engine: paths and ports, without options that current Java versions reject."""
    folder = home / "config"
    lines = (folder / "jvm.options").read_text(encoding="utf-8").splitlines()
    kept = [one for one in lines if not _GONE.search(one)]
    kept += [f"-Xms{_HEAP}", f"-Xmx{_HEAP}"]
    (folder / "jvm.options").write_text("\n".join(kept) + "\n", encoding="utf-8")
    settings = {
        "cluster.name": "aferir",
        "node.name": "aferir",
        "network.host": LOOPBACK,
        "http.port": port,
        "transport.tcp.port" if engine.prefix == "ES" else "transport.port": transport,
        "discovery.type": "single-node",
        "path.data": str(data),
        "path.logs": str(home / "logs"),
        # On a nearly full disk, shards must not be moved elsewhere.
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }
    told = "".join(f"{key}: {value}\n" for key, value in settings.items())
    (folder / f"{engine.name}.yml").write_text(told, encoding="utf-8")
    return folder


def _give(folder: Path, user: pwd.struct_passwd) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user.pw_uid, user.pw_gid)


def _java_home() -> str:
    java = shutil.which("java", path=packages.search_path()) or "java"
    return str(Path(java).resolve().parent.parent)


def _wait_for_health(port: int) -> None:
    wait.until_it_works(
        lambda: ask(port, "GET", "/_cluster/health?wait_for_status=yellow&timeout=5s"),
        ProgramError,
        wait.after(_STARTING_S),
        period_s=0.2,
    )
