"""A journal of everything that we make on a machine, so that nothing outlives us.

An entry is written and synced *before* the thing is made, and erased after it is removed. What a
SIGKILL leaves is found at the next start and by `aferir clean`: entries whose owner is dead.
"""

from __future__ import annotations

import errno
import os
import platform
import shutil
import uuid
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from aferir.linux.refusal import home, refusals

_ROOT_CACHE = Path("/var/cache/aferir")
_ID_DIGITS, _FAMILY_DIGITS = 12, 6
_FIRST_NAMESPACE = 0xEFFFFFFC
"""Inode number of the initial pid namespace (include/linux/proc_ns.h)."""
_WRITING = ".writing-"
_ELSEWHERE = "set AFERIR_STATE to a folder that you may write in, on a disk with room"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """Journal entry of one thing that aferir has made, or is about to make."""

    id: str
    kind: str
    """Kind of the created object, which selects its cleaner: `container`, `vm`, `process` ..."""
    owner_pid: int
    owner_started: int
    """Start time of the owner in clock ticks since boot, because pids are reused."""
    boot_id: str
    pid_namespace: int = _FIRST_NAMESPACE
    """Pid namespace in which the owner's pid is valid (pid_namespaces(7))."""
    host: str = ""
    """Name of the owner's host; if hosts share a home, they also share one journal."""
    details: dict[str, str]
    kept_by: str = ""
    """Path of a file; while it contains this entry's id, the thing outlives its owner."""


def state_folder() -> Path:
    """Folder of the journal: /var/lib/aferir for root, else under XDG_STATE_HOME."""
    chosen = os.environ.get("AFERIR_STATE")
    if chosen:
        return Path(chosen)
    if os.geteuid() == 0:
        return Path("/var/lib/aferir")
    base = os.environ.get("XDG_STATE_HOME") or home() / ".local" / "state"
    return Path(base) / "aferir"


def cache_folder() -> Path:
    """Folder of images: /var/cache/aferir for root, else under XDG_CACHE_HOME."""
    chosen = os.environ.get("AFERIR_CACHE")
    if chosen:
        return Path(chosen)
    if os.geteuid() == 0:
        return _ROOT_CACHE
    base = os.environ.get("XDG_CACHE_HOME") or home() / ".cache"
    return Path(base) / "aferir"


def readable_caches() -> list[Path]:
    """Folders with images: our own, and root's unless AFERIR_CACHE is set."""
    root = [] if os.environ.get("AFERIR_CACHE") else [_ROOT_CACHE]
    return list(dict.fromkeys([cache_folder(), *root]))


def write(kind: str, details: dict[str, str], *, kept_by: Path | None = None) -> Entry:
    """Write an entry about a thing that is about to be made, durably, and return it.

    With `kept_by` the thing may outlive us: it is no orphan while that file contains the entry's
    id. Its maker writes the id there atomically once all of it is made, and removes it before the
    thing is removed; so a kill at any time leaves either a complete thing or an orphan.
    """
    pid = os.getpid()
    entry = Entry(
        id=_unused_id(),
        kind=kind,
        owner_pid=pid,
        owner_started=start_time(pid) or 0,
        boot_id=boot_id(),
        pid_namespace=pid_namespace(),
        host=platform.node(),
        details=details,
        kept_by="" if kept_by is None else str(kept_by),
    )
    path = _folder() / f"{entry.id}.json"
    with refusals(path, "written", remedy=_ELSEWHERE):
        write_durably(path, msgspec.json.encode(entry))
    return entry


def amend(entry: Entry, more: dict[str, str]) -> Entry:
    """Add details of a created object to its entry. Errors: RefusedError."""
    amended = msgspec.structs.replace(entry, details={**entry.details, **more})
    path = _folder() / f"{entry.id}.json"
    with refusals(path, "written", remedy=_ELSEWHERE):
        write_durably(path, msgspec.json.encode(amended))
    return amended


def family(state: Path) -> str:
    """Common prefix of all IDs in the folder `state`, and of the names of what they identify."""
    return f"{zlib.crc32(os.fsencode(state)):08x}"[:_FAMILY_DIGITS]


def read(identity: str) -> Entry | None:
    """Entry with the id `identity`; None if there is none."""
    try:
        content = (_folder() / f"{identity}.json").read_bytes()
        return msgspec.json.decode(content, type=Entry)
    except (OSError, msgspec.DecodeError):
        return None


def erase(entry: Entry) -> None:
    """Erase the entry of a thing that was removed."""
    (_folder() / f"{entry.id}.json").unlink(missing_ok=True)


def entries() -> Iterator[Entry]:
    """All entries, whether their owners live or not; damaged files are skipped."""
    for path in sorted(_folder().glob("*.json")):
        try:
            yield msgspec.json.decode(path.read_bytes(), type=Entry)
        except (msgspec.DecodeError, OSError):  # gone meanwhile, or somebody else's
            continue


def orphans() -> list[Entry]:
    """Entries whose owner is dead, except those that are kept on purpose."""
    return [entry for entry in entries() if not (owner_lives(entry) or is_kept(entry))]


def is_kept(entry: Entry) -> bool:
    """True if the object may outlive the process that created it: see `write`."""
    if not entry.kept_by:
        return False
    try:
        return entry.id in Path(entry.kept_by).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def owner_lives(entry: Entry) -> bool:
    """True if the process that wrote `entry` still runs, on this boot, or is another host's.

    Only the host itself knows what runs on it, so that entries of other hosts are left to them.

    A process of another pid namespace, such as that of a container, is not visible from here: it is
    assumed to live while any process may exist in its namespace.
    """
    if entry.boot_id != boot_id():
        return entry.host not in ("", platform.node())
    if entry.pid_namespace != pid_namespace():
        return _may_live(entry.pid_namespace)
    return start_time(entry.owner_pid) == entry.owner_started


def write_durably(path: Path, content: bytes) -> None:
    """Replace `path` atomically and durably; the umask determines its permissions.

    Incomplete files that killed writers left beside it are removed. Errors: OSError; then the old
    content is unchanged.
    """
    refuse_device(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep(path.parent, _WRITING)
    temporary = path.parent / unique(_WRITING)
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def refuse_device(path: Path) -> None:
    """Raise OSError if a device, pipe or socket is there, which a new file would replace.

    As root `--parquet /dev/null` would otherwise leave a regular file there for everybody.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FileExistsError(errno.EEXIST, "a device, pipe or socket of that name is there")


def unique(prefix: str) -> str:
    """Unique name for a file that is being written; `sweep` removes it if we die."""
    return f"{prefix}{os.getpid()}-{uuid.uuid4().hex[:8]}"


def sweep(folder: Path, prefix: str) -> None:
    """Remove incomplete files under `unique` names of processes that no longer run."""
    for path in folder.glob(f"{prefix}*"):
        pid = path.name.removeprefix(prefix).partition("-")[0]
        if pid.isdecimal() and not Path(f"/proc/{pid}").exists():
            with suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def sync_folder(folder: Path) -> None:
    """Sync the entries of a folder to the disk, as fsync(2) requires for new files."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unused_id() -> str:
    begins = family(state_folder())
    while True:
        identity = begins + uuid.uuid4().hex[: _ID_DIGITS - _FAMILY_DIGITS]
        if not (_folder() / f"{identity}.json").exists():
            return identity


def _folder() -> Path:
    folder = state_folder() / "journal"
    with refusals(folder, "made", remedy=_ELSEWHERE):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def start_time(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot; None if it is dead.

    Field 22 of /proc/PID/stat; the command's name may contain spaces and brackets (proc(5)).
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


def pid_namespace(pid: str = "self") -> int:
    """Pid namespace of a process; the initial one if it may not be read."""
    try:
        return Path(f"/proc/{pid}/ns/pid").stat().st_ino
    except OSError:
        return _FIRST_NAMESPACE


def _may_live(namespace: int) -> bool:
    """True if a process may exist in the pid namespace; only the initial one shows them all."""
    if pid_namespace() != _FIRST_NAMESPACE:
        return True
    everybody = (path.name for path in Path("/proc").iterdir() if path.name.isdecimal())
    return any(pid_namespace(pid) == namespace for pid in everybody)


def boot_id() -> str:
    """Identifier of this boot of the machine (random(4)): pids are valid for one boot only."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
