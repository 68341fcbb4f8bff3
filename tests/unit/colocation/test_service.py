"""Processes and threads of a service, in made-up folders and of real processes."""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from aferir.colocation import service, units
from aferir.colocation.service import parse_spec
from aferir.colocation.service_threads import Service
from aferir.errors import UsageError
from aferir.linux import process
from tests.waiting import eventually


@pytest.mark.parametrize(
    ("written", "unit"),
    [
        ("nginx", "nginx.service"),
        ("php8.2-fpm", "php8.2-fpm.service"),
        ("postgresql@15.3-main", "postgresql@15.3-main.service"),
        ("nginx.service", "nginx.service"),
        ("session-3.scope", "session-3.scope"),
        ("system-php8.2.slice", "system-php8.2.slice"),
    ],
)
def test_dots_and_at_signs_are_part_of_a_units_name(written: str, unit: str) -> None:
    assert parse_spec(f"unit:{written}").unit == unit


def found_of(*paths: str) -> Path | None:
    return units.of_this_machine({Path("/v2", path): Path(path) for path in paths}, "a.service")


def test_a_unit_is_that_of_this_machine_and_not_a_containers() -> None:
    here = "system.slice/system-a.slice/a.service"
    for inside in (
        "lxc.payload.web/system.slice/a.service",
        "machine.slice/libpod-1.scope/system.slice/a.service",
        "system.slice/docker-1.scope/a.service",
    ):
        assert found_of(inside, here) == Path("/v2", here)
        assert found_of(inside) == Path("/v2", inside)
    assert found_of() is None


def test_a_unit_that_is_there_twice_is_refused_by_its_paths() -> None:
    users = [f"user.slice/user-{k}.slice/user@{k}.service/app.slice/a.service" for k in (1, 2)]
    with pytest.raises(UsageError, match=r"user-1\.slice.* and .*user-2\.slice"):
        found_of(*users)


def test_the_group_of_a_unit_is_found_in_any_slice_and_with_its_escape(tmp_path: Path) -> None:
    for path in ("system.slice/x.service", "a.slice/_memory.service", "a.slice/b.slice/x.service"):
        (tmp_path / path).mkdir(parents=True)
    found = sorted(units.groups_named(tmp_path, "x.service"))
    assert [str(one.relative_to(tmp_path)) for one in found] == [
        "a.slice/b.slice/x.service",
        "system.slice/x.service",
    ]
    escaped = list(units.groups_named(tmp_path, "memory.service"))
    assert escaped == [tmp_path / "a.slice/_memory.service"]


_NAMING = """
import ctypes, sys, threading
def name(text):
    ctypes.CDLL(None).prctl(15, text.encode(), 0, 0, 0)
def work(lines):
    for line in lines:
        name(line.strip())
        print("named", flush=True)
thread = threading.Thread(target=work, args=(sys.stdin,))
if sys.argv[1] == "thread":
    thread.start()
    print("ready", flush=True)
    thread.join()
elif sys.argv[1] == "ended":
    thread.start()
    print("ready", flush=True)
    ctypes.CDLL(None).pthread_exit(None)
else:
    print("ready", flush=True)
    work(sys.stdin)
"""


@contextmanager
def naming(how: str) -> Iterator[subprocess.Popen[str]]:
    """A process of which a thread, or the first one, takes the names that it reads."""
    command = [sys.executable, "-c", _NAMING, how]
    child = process.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        said(child)
        yield child
    finally:
        process.end(child, grace_s=0.1)


def said(child: subprocess.Popen[str], name: str = "") -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    if name:
        child.stdin.write(f"{name}\n")
        child.stdin.flush()
    assert child.stdout.readline()


def test_a_thread_may_take_another_name_long_after_its_birth() -> None:
    with naming("thread") as child:
        looked = Service(parse_spec(f"pid:{child.pid}"))
        said(child, "pool-idle")
        for time_s in range(10):
            looked.look(float(time_s))
        assert "pool-idle" in looked.names.values()
        said(child, "pool-query")
        for time_s in range(10, 13):
            looked.look(float(time_s))
        assert "pool-query" in looked.names.values()
        assert "pool-idle" not in looked.names.values()
        looked.close()


def test_a_process_may_take_the_name_of_the_service_long_after_its_birth() -> None:
    name = f"late-{secrets.token_hex(4)}"  # at most 15 bytes (proc(5), comm)
    with naming("process") as child:
        looked = service.Processes(parse_spec(f"comm:{name}"))
        for _ in range(3):
            assert looked.look() == ()
        said(child, name)
        assert eventually(looked.look) == (child.pid,)


def test_a_process_whose_first_thread_has_ended_is_still_the_service() -> None:
    with naming("ended") as child:
        eventually(lambda: state_of(child.pid) == "Z")
        spec = parse_spec(f"pid:{child.pid}")
        assert service.processes(spec) == (child.pid,)
        assert len(service.threads((child.pid,))) == 2
    assert service.processes(spec) == ()


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
