"""HBase under YCSB: master, region server and ZooKeeper in one process, files in a local folder."""

from __future__ import annotations

import re
import socket
import time
from argparse import ArgumentParser, Namespace
from xml.sax.saxutils import escape

from aferir.programs.stores.inside import ycsb
from aferir.programs.stores.inside.cpu import of_ended
from aferir.programs.stores.inside.mariadb import account
from aferir.programs.stores.inside.outcome import FailedError, Figures, WrongError
from aferir.programs.stores.inside.workplace import Child, Workplace

PROGRAM = "hbase"
_BINDING = "aferir.HBaseStore"
_SERVER = "org.apache.hadoop.hbase.master.HMaster"
_PATIENCE_MS = {
    "hbase.master.start.timeout.localHBaseCluster": 1_800_000,
    "hbase.master.init.timeout.localHBaseCluster": 1_800_000,
    "zookeeper.session.timeout.localHBaseCluster": 90_000,
    "hbase.rpc.timeout": 1_800_000,
    "hbase.client.operation.timeout": 1_800_000,
    "hbase.client.meta.operation.timeout": 1_800_000,
    "hbase.client.sync.wait.timeout.msec": 1_800_000,
}
"""Timeouts in ms of HBase's server and its clients. The defaults, 10 s to 20 min, are too short on
a busy host or in an emulated guest.
"""
_RETRIES = 100
"""Attempts of a client to call a server that is starting, 20 s apart from the twelfth on, so that
it waits as long as the server may take. The default of 15 attempts takes 2 min, which an emulated
guest exceeds.
"""
_LOGGING = """log4j.rootLogger=WARN,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.target=System.err
log4j.appender.out.layout=org.apache.log4j.SimpleLayout
"""


def arguments(parser: ArgumentParser) -> None:
    """Declare the options of this program."""
    ycsb.arguments(parser)
    parser.add_argument("--heap-bytes", type=int, required=True)
    parser.add_argument("--settle", type=int, required=True)


def run(given: Namespace, place: Workplace) -> Figures:
    """Start, load, settle, run, and count the records. Errors: FailedError, WrongError."""
    clock = time.perf_counter()
    ycsb.unpack(given.jars, place)
    with socket.socket() as held:
        # Bound, but not listening: others are not given the port, and ZooKeeper may listen on it.
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("", 0))
        server = _start(given, place, held.getsockname()[1])
        try:
            _ask(place, "create")
            ycsb.phase("load", given, place, database=_BINDING, properties={})
            if given.settle:
                before_it = Namespace(**{**vars(given), "requests": given.settle})
                ycsb.phase("t", before_it, place, database=_BINDING, properties={})
            setup_s = time.perf_counter() - clock
            before, asked = account(server), of_ended()
            report = ycsb.phase("t", given, place, database=_BINDING, properties={})
            used, started = account(server).since(before), of_ended() - asked
            counted = re.search(r"^records: (\d+)$", _ask(place, "count"), re.MULTILINE)
        except (FailedError, WrongError):
            server.ensure_stays_alive()
            raise
    if counted is None or int(counted[1]) != given.records:
        raise WrongError(f"not all of {given.records} records are there")
    return Figures(
        duration_s=report["OVERALL", "RunTime(ms)"] / 1e3,
        requests=given.requests,
        bytes_read=used.read,
        bytes_written=used.written,
        setup_s=setup_s,
        cpu=used.cpu - started + ycsb.cpu(report),
    )


def _start(given: Namespace, place: Workplace, port: int) -> Child:
    settings = {
        "hbase.rootdir": f"file://{place.folder}/data",
        "hbase.tmp.dir": f"{place.folder}/temporary",
        "hbase.zookeeper.property.dataDir": f"{place.folder}/zookeeper",
        "hbase.zookeeper.property.clientPort": str(port),
        "hbase.zookeeper.quorum": "localhost",
        "hbase.master.hostname": "localhost",
        "hbase.regionserver.hostname": "localhost",
        "hbase.master.port": "0",
        "hbase.regionserver.port": "0",
        "hbase.master.info.port": "-1",
        "hbase.regionserver.info.port": "-1",
        "hbase.wal.provider": "filesystem",
        "hbase.unsafe.stream.capability.enforce": "false",
        "hbase.client.retries.number": str(_RETRIES),
        **{name: str(value) for name, value in _PATIENCE_MS.items()},
    }
    lines = "".join(
        f"<property><name>{name}</name><value>{escape(value)}</value></property>\n"
        for name, value in settings.items()
    )
    for name, text in (
        ("hbase-site.xml", f"<configuration>\n{lines}</configuration>\n"),
        ("log4j.properties", _LOGGING),
    ):
        (place.folder / "jars" / name).write_text(text, encoding="utf-8")
    heap = f"-Xmx{given.heap_bytes}"
    return place.start([*_java(place), heap, _SERVER, "start"], name="hbase")


def _ask(place: Workplace, what: str) -> str:
    return place.run([*_java(place), _BINDING, what], name=f"hbase-{what}")


def _java(place: Workplace) -> list[str]:
    """Java's command line, with the configuration folder before the programs."""
    return [*ycsb.JAVA, "-cp", ycsb.classpath(place)]
