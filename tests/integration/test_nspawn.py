from __future__ import annotations

import pytest

from aferir.environments.base import Instance
from tests.integration.contract import Contract

pytestmark = pytest.mark.integration


class TestNspawn(Contract):
    kind = "nspawn"

    def test_its_system_calls_are_filtered_and_it_is_alone_with_loopback(
        self, instance: Instance
    ) -> None:
        assert "Seccomp:\t2" in instance.run(["cat", "/proc/self/status"]).stdout
        links = instance.run(["ip", "-o", "link"]).stdout.splitlines()
        assert [line.split(":")[1].strip() for line in links] == ["lo"]
