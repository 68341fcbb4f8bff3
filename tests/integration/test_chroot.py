from __future__ import annotations

from pathlib import Path

import pytest

from aferir.environments.base import Instance
from tests.integration.contract import Contract

pytestmark = pytest.mark.integration


class TestChroot(Contract):
    kind = "chroot"
    own_processes = False

    def test_it_has_the_network_of_the_host(self, instance: Instance) -> None:
        own = instance.run(["readlink", "/proc/self/ns/net"]).stdout.strip()
        assert own == str(Path("/proc/self/ns/net").readlink())
