"""The kind `uml`: guests as any other environment has instances."""

from __future__ import annotations

import pytest

from aferir import registry
from aferir.environments.base import Instance
from aferir.errors import MissingError
from aferir.linux import journal
from tests.integration.contract import Contract
from tests.integration.support import leftovers, usable

pytestmark = pytest.mark.integration


class TestUml(Contract):
    kind = "uml"
    longest_start_s = 4.0
    own_kernel = True
    entries = ("uml", "uml-group")
    own_processes = False  # those of its kernel are many

    def test_its_kernel_is_not_the_hosts(self, instance: Instance) -> None:
        assert "User Mode Linux" in instance.run(["cat", "/proc/cpuinfo"]).stdout


def test_more_than_its_one_processor_is_refused(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path_factory.mktemp("state")))
    environment = usable("uml")
    spec = registry.kinds()["uml"].spec(name="u", kind="uml", cpus=2, memory_bytes=2**28)
    with pytest.raises(MissingError, match="one processor"):
        environment.allocate(spec)
    assert list(journal.entries()) == []
    assert leftovers() == []
