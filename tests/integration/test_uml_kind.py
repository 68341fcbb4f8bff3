"""The kind `uml` of environments, whose instances are guests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aferir import registry
from aferir.environments.base import Instance
from aferir.errors import MissingError, TimeoutExpired
from tests.integration.contract import Contract
from tests.integration.support import allocated, own_state, usable

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    with pytest.MonkeyPatch.context() as patch:
        own_state(tmp_path_factory, patch)
        spec = registry.kinds()["uml"].spec(name="u", kind="uml", cpus=1, memory_bytes=2**28)
        yield from allocated(usable("uml"), spec)


class TestUml(Contract):
    """The contract on one shared guest, for tests that leave it as it was."""

    kind = "uml"
    kills = 5
    longest_start_s = 4.0
    own_kernel = True
    entries = ("uml", "uml-group")
    own_processes = False  # those of its kernel are many

    @pytest.fixture
    def instance(self, guest: Instance) -> Instance:
        return guest

    def test_its_kernel_is_not_the_hosts(self, instance: Instance) -> None:
        assert "User Mode Linux" in instance.run(["cat", "/proc/cpuinfo"]).stdout


@pytest.mark.parametrize("size", [3_000, 5_000, 100_000])
def test_a_command_may_be_long(guest: Instance, size: int) -> None:
    """The line to its agent holds 4 KiB."""
    told = {"LONG": "it's" * (size // 4), "a.b": "x"}
    line = 'test $# = 2 && echo ${#LONG} ${#1} "$2"'
    done = guest.run(["sh", "-c", line, "sh", "y" * size, "a b\nc"], environment=told)
    assert done.stdout == f"{size} {size} a b\nc\n"
    assert "a.b=x" in guest.run(["env"], environment=told).stdout.splitlines()
    assert guest.run(["sh", "-c", "kill -9 $$", "y" * size], check=False).exit_code == -9
    assert guest.run(["sh", "-c", "exit 127", "y" * size], check=False).exit_code == 127
    with pytest.raises(MissingError, match="none-such"):
        guest.run(["/none-such", "y" * size], environment={"LONG": "x"})
    with pytest.raises(TimeoutExpired):
        guest.run(["sleep", "1000", *(["0"] * size)], timeout_s=1.0)
    assert guest.run(["echo", "it answers"]).stdout == "it answers\n"
