"""Finds what a bench has left on this machine, to prove that cleaning was complete.

A bench uses its own state folder. What it makes carries that folder's mark: its path, or the common
prefix of all ids in its journal. So things of other programs are never attributed to the bench, and
no comparison of before and after is needed.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from aferir.linux import cgroup, journal, namespace, undo
from aferir.model.bench import Figure
from aferir.registry import clean

_STATE, _TEMPORARY = "AFERIR_STATE", "TMPDIR"
_SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - looked at for names alone
_LINKS = ("cwd", "root", "exe")


@contextlib.contextmanager
def own_state() -> Iterator[Path]:
    """Use a temporary state folder within the block, so that a user's instances are not affected.

    Temporary files of programs go below it too. Anything left afterwards is cleaned up.
    """
    given = {name: os.environ.get(name) for name in (_STATE, _TEMPORARY)}
    state = Path(tempfile.mkdtemp(prefix="aferir-bench-"))
    state.chmod(0o711)  # services that run as another user have their files below it
    _temporary(state).mkdir()
    os.environ |= {_STATE: str(state), _TEMPORARY: str(_temporary(state))}
    try:
        yield state
    finally:
        clean(list(journal.entries()))
        for name, value in given.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        undo.remove_tree(state)


def leftovers(state: Path) -> list[str]:
    """Descriptions of everything that was made for the state folder, except this process."""
    mark = _mark(state)
    return [
        *(f"process {pid}" for pid in _processes(mark)),
        *(f"mount {line}" for line in _marked_lines(Path("/proc/self/mountinfo"), mark)),
        *(f"control group {path}" for path in _control_groups(mark)),
        *(f"name space {path}" for path in namespace.FOLDER.glob("*") if _is(path, mark)),
        *(f"loop device {path}" for path in _loop_devices(mark)),
        *(f"socket {line}" for line in _marked_lines(Path("/proc/net/unix"), mark)),
        *(f"journal entry {path.stem}" for path in state.glob("journal/*.json")),
        *(f"file {path}" for path in _files(state, mark)),
    ]


def judge_leftovers(name: str, left: Sequence[str], n: int) -> Figure:
    """Figure for leftovers, whose target is 0."""
    return Figure(
        name=name,
        value=float(len(left)),
        unit="things",
        n=n,
        target="== 0",
        holds=not left,
        note="; ".join(left[:3])
        or "no process, mount, control group, name space, loop device, socket, entry or file",
    )


def _mark(state: Path) -> re.Pattern[bytes]:
    path, family = re.escape(str(state)), journal.family(state)
    return re.compile(rf"{path}(?![\w-])|(?:aferir-|building-|{undo.MARK}=){family}".encode())


def _temporary(state: Path) -> Path:
    return state / "temporary"


def _processes(mark: re.Pattern[bytes]) -> Iterator[int]:
    """Processes with the mark in arguments, environment, control groups or open files."""
    for folder in Path("/proc").glob("[0-9]*"):
        pid = int(folder.name)
        ours = pid != os.getpid() and any(mark.search(trace) for trace in _traces(folder))
        if ours and journal.start_time(pid) is not None:
            yield pid


def _traces(folder: Path) -> Iterator[bytes]:
    for name in ("environ", "cmdline", "cgroup"):
        with contextlib.suppress(OSError):
            yield (folder / name).read_bytes()
    with contextlib.suppress(OSError):  # it may end meanwhile
        for link in (*(folder / name for name in _LINKS), *(folder / "fd").iterdir()):
            with contextlib.suppress(OSError):
                yield os.fsencode(link.readlink())


def _marked_lines(file: Path, mark: re.Pattern[bytes]) -> Iterator[str]:
    for line in file.read_bytes().splitlines():
        if mark.search(line):
            yield os.fsdecode(line)


def _control_groups(mark: re.Pattern[bytes]) -> Iterator[Path]:
    """Control groups with the mark; groups that vanish during the search are skipped."""
    for root in cgroup.layout().roots():
        for folder, names, _ in os.walk(root):
            yield from (Path(folder, name) for name in names if mark.search(os.fsencode(name)))


def _loop_devices(mark: re.Pattern[bytes]) -> Iterator[str]:
    for file in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if mark.search(file.read_bytes()):
                yield file.parts[3]


def _files(state: Path, mark: re.Pattern[bytes]) -> Iterator[Path]:
    """Files of instances and programs; the journal and caches are no leftovers."""
    yield from _temporary(state).glob("*")
    shared = {*map(Path, _SHARED_FOLDERS), journal.cache_folder() / "images"}
    for folder in (*sorted(shared), *state.glob("*/")):
        yield from (path for path in folder.glob("*") if _is(path, mark))


def _is(path: Path, mark: re.Pattern[bytes]) -> bool:
    return mark.search(os.fsencode(path.name)) is not None
