"""Control groups of version 2 on a real kernel: the host's tests, in a guest that has no other.

What a guest of one processor without cpuset cannot show is skipped in it; the count of tests that
passed says that the rest was not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import pytest

from aferir.environments.uml.guest import Guest
from tests.integration import unified_guest
from tests.integration.support import own_state

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(os.geteuid() != 0, reason="the guest reads files that only root may read"),
]


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    with pytest.MonkeyPatch.context() as patch:
        own_state(tmp_path_factory, patch)
        with unified_guest.booted() as made:
            yield made


def test_it_has_version_2_and_no_other(guest: Guest) -> None:
    code = "from aferir.linux.cgroup import layout; h = layout(); print(h.v1, h.v2_controllers)"
    done = unified_guest.inside(guest, "python", "-c", code)
    assert done.stdout.startswith("{} ("), done.stderr
    assert {"cpu", "io", "memory"} <= set(re.findall(r"'(\w+)'", done.stdout))


@pytest.mark.parametrize(
    ("file", "chosen", "passed"),
    [
        ("test_colocation_machine.py", "", 20),
        ("test_colocation_place.py", "", 4),
        ("test_colocation_kill.py", "controller or both", 2),
        ("test_colocation_levers.py", "", 3),
        ("test_native.py", "not TestCloud", 10),
        ("test_io_cells.py", "held_to_its_rate", 2),
        ("test_container.py", "quota or competes or paused", 3),
    ],
)
def test_the_hosts_tests_pass_in_it(guest: Guest, file: str, chosen: str, passed: int) -> None:
    done = unified_guest.tested(guest, f"tests/integration/{file}", "-k", chosen, within="")
    assert done.exit_code == 0, done.stdout
    found = re.search(r"(\d+) passed", done.stdout)
    assert found, done.stdout
    assert int(found[1]) >= passed, done.stdout


def test_the_batch_is_a_unit_where_systemd_owns_the_groups(guest: Guest) -> None:
    within = unified_guest.with_systemd(guest)
    done = unified_guest.tested(guest, "tests/integration/test_colocation_unit.py", within=within)
    assert done.exit_code == 0, done.stdout
    assert "3 passed" in done.stdout, done.stdout
