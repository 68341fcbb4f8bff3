"""Refusals of the operating system are reported with file and remedy, not as internal errors."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.test_endings import EXPERIMENT, FORMS

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
NOBODY = 54321
SYSTEM_PYTHON = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
"""Command line of aferir for another user, who may have no access to a virtual environment."""
PACKAGES = os.pathsep.join(
    path for path in sys.path if path and not path.startswith(sys.base_prefix)
)


@contextmanager
def readable_folder() -> Iterator[Path]:
    """A folder that other users may read, unlike pytest's."""
    with tempfile.TemporaryDirectory(prefix="aferir-test-") as name:
        path = Path(name)
        path.chmod(0o755)
        (path / "small.toml").write_text(EXPERIMENT, encoding="utf-8")
        yield path


@pytest.fixture
def folder() -> Iterator[Path]:
    with readable_folder() as made:
        yield made


@pytest.fixture(scope="module")
def finished() -> Iterator[Path]:
    """A run that is complete; tests get copies of it."""
    with readable_folder() as made:
        assert shell(made, "aferir run small.toml").returncode == 0
        (run,) = (made / "runs").iterdir()
        yield run


@pytest.fixture
def run(folder: Path, finished: Path) -> Path:
    """The run in a folder of runs of this test's own."""
    return shutil.copytree(finished, folder / "runs" / finished.name)


def shell(
    folder: Path, line: str, *, user: int | None = None, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a line of sh(1) in which `aferir` is this one; nobody has no home unless it is given."""
    python = f"{sys.executable if user is None else SYSTEM_PYTHON} -m aferir"
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": PACKAGES}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1"}
    if user is None:
        environment["AFERIR_STATE"] = str(folder / "state")
    return subprocess.run(
        ["sh", "-c", f'aferir() {{ {python} "$@"; }}; {line}'],
        cwd=folder,
        env=environment | dict(variables or {}),
        user=user,
        group=user,
        extra_groups=[] if user is not None else None,
        capture_output=True,
        text=True,
        check=False,
    )


def refused(done: subprocess.CompletedProcess[str], *words: str, code: int = 3) -> None:
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "a fault of aferir" not in done.stderr
    assert "remedy: " in done.stderr
    for word in words:
        assert word in done.stderr


def test_a_limit_of_a_file_s_size_keeps_the_old_report(folder: Path, run: Path) -> None:
    before = {name: (run / name).read_bytes() for name in FORMS}
    done = shell(folder, f"ulimit -f 8; aferir report {run}")
    refused(done, f"{run}/report.html cannot be written: File too large", "ulimit -f unlimited")
    assert {name: (run / name).read_bytes() for name in FORMS} == before
    assert not list(run.glob(".*"))


def test_a_run_that_may_not_write_its_records_goes_on_later(folder: Path) -> None:
    done = shell(folder, "ulimit -f 12; aferir run small.toml")
    refused(done, "records.jsonl cannot be written: File too large", "goes on where it stopped")
    assert "going on with" in shell(folder, "aferir run small.toml").stderr
    assert len(list((folder / "runs").iterdir())) == 1


def test_a_place_that_is_no_folder(folder: Path) -> None:
    (folder / "file").write_text("x")
    refused(shell(folder, "aferir list --runs file"), "file is no folder", code=2)
    refused(shell(folder, "aferir run small.toml --runs file"), "file is no folder", code=2)
    refused(shell(folder, "aferir run small.toml --runs file/runs"), "file", code=2)


@as_root
def test_a_full_and_a_read_only_disk(folder: Path) -> None:
    made = "mkdir m; mount -t tmpfs -o size=4k tmpfs m"
    done = shell(
        folder, f"unshare -m sh -c '{made}; {sys.executable} -m aferir run small.toml --runs m'"
    )
    refused(done, "No space left on device", "make room")
    made = "mount -t tmpfs tmpfs m; mount -o remount,ro m"
    done = shell(
        folder, f"unshare -m sh -c '{made}; {sys.executable} -m aferir run small.toml --runs m'"
    )
    refused(done, "Read-only file system", code=2)
    state = f"AFERIR_STATE=m/state {sys.executable} -m aferir run small.toml"
    done = shell(folder, f"unshare -m sh -c '{made}; {state}'")
    refused(done, "m/state/journal cannot be made", "AFERIR_STATE")


@pytest.fixture
def _readable(folder: Path) -> None:
    line = f"{SYSTEM_PYTHON} -c 'import aferir, msgspec'"
    if shell(folder, line, user=NOBODY).returncode != 0:
        pytest.skip("this clone, or its packages, may be read by its owner alone")


@as_root
@pytest.mark.usefixtures("_readable")
def test_somebody_without_a_home_or_with_the_root_as_home(folder: Path) -> None:
    done = shell(folder, "aferir run small.toml --runs r", user=NOBODY)
    refused(done, "no home folder", "AFERIR_STATE")
    done = shell(folder, "aferir run small.toml --runs r", user=NOBODY, variables={"HOME": "/"})
    refused(done, "/.local/state/aferir/journal cannot be made", "AFERIR_STATE")
    done = shell(folder, "aferir list", user=NOBODY)
    assert (done.returncode, done.stderr) == (0, "")


@as_root
@pytest.mark.usefixtures("_readable")
def test_containers_that_take_root_are_left_out_for_others_with_the_remedy(folder: Path) -> None:
    (folder / "home").mkdir()
    shutil.chown(folder / "home", NOBODY, NOBODY)
    wanted = "--in native --in podman --in gvisor -n 3..3 --runs home/runs -- true"
    done = shell(
        folder, f"aferir measure {wanted}", user=NOBODY, variables={"HOME": str(folder / "home")}
    )
    assert done.returncode == 0, done.stderr
    assert "left out: environments podman, gvisor: " in done.stdout
    assert "sudo aferir ..." in done.stdout
    assert "kernel in user space" not in done.stdout, "nothing ran on one"


@as_root
@pytest.mark.usefixtures("_readable")
def test_runs_of_root_are_listed_and_reported_by_others(folder: Path, run: Path) -> None:
    shell(folder, "umask 077; aferir run small.toml --new")
    (private,) = {*(folder / "runs").iterdir()} - {run}
    assert {path.stat().st_mode & 0o077 for path in (private, *private.iterdir())} == {0}
    listed = shell(folder, "aferir list", user=NOBODY)
    assert listed.returncode == 0
    assert "complete" in listed.stdout
    assert "unreadable" in listed.stdout
    refused(shell(folder, f"aferir report {private}", user=NOBODY), "belongs to root", "chmod")
    refused(shell(folder, f"aferir report {run}", user=NOBODY), "cannot be written", "--to")
    told = shell(folder, f"aferir report {run} --json", user=NOBODY)
    assert told.returncode == 0
    assert told.stdout.startswith("{")
    own = folder / "own"
    own.mkdir()
    os.chown(own, NOBODY, NOBODY)
    done = shell(folder, f"aferir report {run} --to {own}/report", user=NOBODY)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (own / "report").iterdir()} == FORMS
    done = shell(folder, f"cd own; aferir report {run}", user=NOBODY)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (own / run.name).iterdir()} == FORMS


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("run small.toml <&- >&- 2>&-", 0),
        ("run small.toml >/dev/full 2>/dev/full", 0),
        ("run small.toml >&- 2>/dev/full", 0),
        ("run small.toml --json >/dev/full", 3),
        ("list >/dev/full", 3),
        ("list --json >/dev/full", 3),
        ("list >&-", 0),
        ("run none.toml 2>&-", 2),
        ("run none.toml 2>/dev/full", 2),
        ("--help >&-", 0),
    ],
)
def test_output_that_goes_nowhere_ends_nothing(folder: Path, ending: str, code: int) -> None:
    done = shell(folder, f"aferir {ending}")
    assert done.returncode == code, done.stderr
    if ending.startswith("run small"):
        (run,) = (folder / "runs").iterdir()
        assert {path.name for path in run.iterdir()} >= FORMS


@pytest.mark.parametrize(
    ("verb", "code"),
    [("list --json", 0), ("run small.toml", 0), ("--help", 0), ("report none", 2)],
)
def test_a_reader_that_has_left_changes_no_exit_code(folder: Path, verb: str, code: int) -> None:
    """The pipe is closed before aferir begins."""
    line = f"{{ sleep 0.2; aferir {verb}; echo $? >code; }} 2>&1 | true"
    shell(folder, line)
    assert int((folder / "code").read_text()) == code


@pytest.mark.parametrize(
    "variables",
    [
        {
            "LC_ALL": "C",
            "PYTHONCOERCECLOCALE": "0",
            "PYTHONUTF8": "0",
            "TMPDIR": "/nonexistent/folder",
            "MPLCONFIGDIR": "/proc/nonexistent",
        },
        {
            "PYTHONIOENCODING": "ascii",
            "XDG_CONFIG_HOME": "/proc/nonexistent",
            "XDG_CACHE_HOME": "/proc/nonexistent",
            "TZ": "Nowhere/City",
        },
    ],
    ids=["a", "b"],
)
def test_unusual_environments_of_the_process(folder: Path, variables: Mapping[str, str]) -> None:
    done = shell(folder, "aferir run small.toml && aferir list", variables=variables)
    assert done.returncode == 0, done.stderr
    assert "complete" in done.stdout


@pytest.mark.parametrize("columns", ["0", "1", "20", "many"])
def test_a_narrow_terminal_shows_something(finished: Path, columns: str) -> None:
    reader, writer = pty.openpty()
    environment = os.environ | {"COLUMNS": columns, "TERM": "xterm"}
    subprocess.run(
        [sys.executable, "-m", "aferir", "list"],
        cwd=finished.parents[1],
        env=environment,
        stdout=writer,
        check=True,
    )
    os.close(writer)
    assert "".join(read_all(reader)).strip()


def read_all(handle: int) -> Iterator[str]:
    with os.fdopen(handle, "rb", buffering=0) as stream:
        while True:
            try:
                content = stream.read(4096)
            except OSError:  # the other end is closed
                return
            if not content:
                return
            yield content.decode()
