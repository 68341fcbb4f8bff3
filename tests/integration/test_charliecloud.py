from __future__ import annotations

from pathlib import Path

import pytest

from aferir.environments.base import Instance
from tests.integration.contract import Contract

pytestmark = pytest.mark.integration


class TestCharliecloud(Contract):
    kind = "charliecloud"
    own_processes = False

    def test_it_has_a_user_namespace_of_its_own(self, instance: Instance) -> None:
        own = instance.run(["readlink", "/proc/self/ns/user"]).stdout.strip()
        assert own != str(Path("/proc/self/ns/user").readlink())
