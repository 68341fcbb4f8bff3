from __future__ import annotations

from pathlib import Path

import pytest

from aferir.environments.base import Instance
from tests.integration.contract import Contract

pytestmark = pytest.mark.integration


class TestApptainer(Contract):
    kind = "apptainer"
    own_processes = False

    def test_it_has_a_user_namespace_and_none_of_the_host_s_folders(
        self, instance: Instance
    ) -> None:
        own = instance.run(["readlink", "/proc/self/ns/user"]).stdout.strip()
        assert own != str(Path("/proc/self/ns/user").readlink())
        mounted = instance.run(["cut", "-d", " ", "-f", "2", "/proc/self/mounts"]).stdout.split()
        assert not {"/root", "/tmp", "/var/tmp", "/etc/hosts", "/etc/localtime"} & set(mounted)
