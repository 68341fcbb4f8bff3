"""Java programs: fetched with Maven as configured here, pinned by version and checksum.

Maven's own configuration determines where artifacts come from. The artifacts, with aferir's classes
compiled against them, become one archive that is put into instances: <cache>/jars/NAME-HASH.tar
"""

from __future__ import annotations

import hashlib
import os
import tarfile
import tempfile
from pathlib import Path

from aferir.errors import MissingError, ProgramError
from aferir.linux import journal, process
from aferir.machine import packages

NAMES = ("key-value", "hbase", "elasticsearch", "opensearch")
_HERE = Path(__file__).parent / "java"
_CLASSES = {
    "key-value": ("BerkeleyDb.java", "ProcessAccount.java"),
    "hbase": ("HBaseStore.java", "ProcessAccount.java"),
}
"""Java sources of aferir that each store needs; Elasticsearch and OpenSearch need none."""
_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_PROGRAMS = ("mvn", "javac", "jar")
_SHORT_LIVED = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Options of a virtual machine that ends in seconds: it compiles quickly, and one thread collects.

Fetching the three stores' programs took 20 s of CPU time with them and 29 s without.
"""
_JAVA_RELEASE = "11"
_TIME_LIMIT_S = 900.0


def find(name: str) -> Path:
    """The archive of the store `name`. Errors: MissingError with the command that fetches it."""
    for cache in journal.readable_caches():
        path = _archive(cache, name)
        if path.is_file():
            return path
    raise MissingError(
        f"the Java programs of `{name}` are not here", remedy=f"run `aferir fetch {name}`"
    )


def fetch(name: str) -> Path:
    """The archive, which is created if it does not exist.

    Errors: MissingError if a program is missing or an artifact is not available, ProgramError if a
    checksum does not match.
    """
    path = _archive(journal.cache_folder(), name)
    if path.is_file():
        return path
    if absent := packages.missing(_PROGRAMS):
        raise MissingError(
            f"{', '.join(absent)} is not installed", remedy=packages.install_command(absent)
        )
    with tempfile.TemporaryDirectory(prefix="aferir-jars-") as folder:
        jars = Path(folder) / "jars"
        _download(name, jars)
        verify(jars, (_HERE / f"{name}.sha256").read_text(encoding="ascii"))
        if name in _CLASSES:
            _compile(name, Path(folder), jars)
        packed = Path(folder) / "packed.tar"
        with tarfile.open(packed, "w") as archive:
            archive.add(jars, "jars")
        journal.write_durably(path, packed.read_bytes())
    return path


def verify(folder: Path, sums: str) -> None:
    """Raise ProgramError unless `folder` holds exactly the files in `sums`, with these hashes."""
    wanted = {line.split()[1]: line.split()[0] for line in sums.splitlines()}
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    if differing := sorted(name for name, _ in wanted.items() ^ found.items()):
        raise ProgramError(
            f"what was fetched is not what was asked for: {', '.join(dict.fromkeys(differing))}",
            remedy="see where your Maven gets it from (settings.xml)",
        )


def _download(name: str, jars: Path) -> None:
    command = ["mvn", "-q", "-B", "-f", str(_HERE / f"{name}.xml"), _GOAL]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
    machine = {"MAVEN_OPTS": os.environ.get("MAVEN_OPTS", _SHORT_LIVED)}
    try:
        process.run(command, timeout_s=_TIME_LIMIT_S, environment=machine)
    except ProgramError as error:
        raise MissingError(
            f"Maven could not fetch `{name}`: {error.message}",
            remedy="see whether your Maven reaches a repository (settings.xml)",
        ) from None


def _compile(name: str, folder: Path, jars: Path) -> None:
    classes = folder / "classes"
    sources = [str(_HERE / source) for source in _CLASSES[name]]
    options = [f"-J{option}" for option in _SHORT_LIVED.split()]
    options += ["--release", _JAVA_RELEASE, "-d", str(classes), "-cp", f"{jars}/*"]
    process.run(["javac", *options, *sources], timeout_s=_TIME_LIMIT_S)
    archive = ["jar", "--create", "--file", str(jars / "aferir.jar"), "-C", str(classes), "."]
    process.run(archive, timeout_s=_TIME_LIMIT_S)


def _archive(cache: Path, name: str) -> Path:
    """Path of the archive; its name contains a hash of everything that determines its contents."""
    parts = (f"{name}.xml", f"{name}.sha256", *_CLASSES.get(name, ()))
    content = b"".join((_HERE / own).read_bytes() for own in parts)
    return cache / "jars" / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}.tar"
