"""Control groups of version 2 on a real kernel: the host's tests in a guest without version 1.

What a guest of one processor without cpuset cannot show is skipped in it; the count of tests that
passed says that the rest was not.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from aferir.environments.uml.guest import Guest
from tests.integration import unified_guest
from tests.integration.support import own_state

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(1800),  # its guest runs all of the files below: 219 s beside other tests
    pytest.mark.skipif(os.geteuid() != 0, reason="the guest reads files that only root may read"),
]


HOSTS = {
    "test_colocation_machine": ("same_settings or left_the_service or was_found", 3),
    "test_colocation_place": ("test", 4),
    "test_colocation_kill": ("controller or both", 2),
    "test_colocation_levers": ("test", 3),
    "test_native": (
        "not TestCloud and (quota or memory or competes or releasing or time_limit or leaves_is)",
        6,
    ),
    "test_io_cells": ("held_to_its_rate", 2),
    "test_container": ("quota or competes or paused", 4),
}
"""Files of the host's tests: which of their tests run in the guest (`pytest -k`), and how many of
them pass at least. Threads, files and processors, which groups do not change, are tested on the
host."""


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


@pytest.fixture(scope="module")
def passed(guest: Guest) -> Counter[str]:
    """How many of the host's tests pass in the guest, by file; one pytest runs all of them."""
    chosen = " or ".join(f"({file} and ({words}))" for file, (words, _) in HOSTS.items())
    files = [f"tests/integration/{file}.py" for file in HOSTS]
    done = unified_guest.tested(guest, "-rpfEs", "-k", chosen, *files, within="")
    assert done.exit_code == 0, done.stdout
    found = re.findall(r"^PASSED tests/integration/(\w+)\.py", done.stdout, re.MULTILINE)
    return Counter(found)


@pytest.mark.parametrize("file", HOSTS)
def test_the_hosts_tests_pass_in_it(passed: Counter[str], file: str) -> None:
    assert passed[file] >= HOSTS[file][1], passed


def test_the_batch_is_a_unit_where_systemd_owns_the_groups(guest: Guest) -> None:
    within = unified_guest.with_systemd(guest)
    done = unified_guest.tested(guest, "tests/integration/test_colocation_unit.py", within=within)
    assert done.exit_code == 0, done.stdout
    assert "3 passed" in done.stdout, done.stdout
