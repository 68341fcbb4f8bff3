from __future__ import annotations

import pytest

from aferir.environments.base import Instance
from tests.integration.contract import Contract

pytestmark = pytest.mark.integration


class TestBubblewrap(Contract):
    kind = "bubblewrap"

    def test_it_is_alone_with_loopback(self, instance: Instance) -> None:
        links = instance.run(["ip", "-o", "link"]).stdout.splitlines()
        assert [line.split(":")[1].strip() for line in links] == ["lo"]
        assert "UP" in links[0]
