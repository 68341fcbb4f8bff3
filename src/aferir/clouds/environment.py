"""A cloud as an environment of experiments.

The experiments measure how instances are allocated and released, so programs request them
themselves: they run on the host, and are told which instances to request.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from aferir.clouds import lxd, providers, remote, simulated
from aferir.clouds.providers import read_wanted
from aferir.environments.base import Context, Kind
from aferir.environments.native import NativeInstance
from aferir.errors import MissingError, UsageError
from aferir.linux import affinity
from aferir.linux.process import Completed
from aferir.model.cloud import WANTED, Wanted
from aferir.model.finding import Finding
from aferir.model.parameters import text
from aferir.model.plan import EnvironmentKind, EnvironmentSpec

KIND = "cloud"


def _wanted(path: str) -> Wanted:
    try:
        return read_wanted(Path(path))
    except UsageError as error:
        raise ValueError(f"does not say which instances: {error.message}") from None


class CloudSpec(EnvironmentSpec, frozen=True, kw_only=True):
    """Keys of the environment in which programs run on the host and request cloud instances."""

    kind: EnvironmentKind = KIND
    cloud: (
        Annotated[
            Wanted,
            text(
                "file that says which instances of which cloud; it is read when the run begins",
                "my-cloud.toml",
                parse=_wanted,
                unset="those of hosts that are simulated here",
            ),
        ]
        | None
    ) = None


class Clouds:
    """The cloud that a specification names; simulated hosts if it names none."""

    kind = KIND

    def __init__(self, context: Context) -> None:
        self._context = context

    def check(self) -> list[Finding]:
        """Return one finding, which is `ok`: what a cloud lacks is only known once it is named."""
        return [Finding(KIND, "ok", "programs may ask clouds for instances")]

    def prepare(self, packages: tuple[str, ...] = ()) -> str:
        """Do nothing: the cloud has the image already."""
        return ""

    def allocate(self, spec: EnvironmentSpec) -> CloudInstance:
        """Check the cloud, and return this host, where programs run and request the instances.

        Errors: MissingError if the cloud cannot be reached, or hosts cannot be simulated.
        """
        clock = time.perf_counter()
        assert isinstance(spec, CloudSpec)
        wanted = spec.cloud
        found = providers.cloud(wanted).check() if wanted else simulated.check("container")
        for finding in found:
            if finding.status == "missing":
                raise MissingError(f"`{spec.name}`: {finding.message}", remedy=finding.remedy)
        cpus = affinity.cpu_set(spec, affinity.host_cpus())
        return CloudInstance(
            spec, cpus, None, {}, time.perf_counter() - clock, context=self._context
        )


class CloudInstance(NativeInstance):
    """Instance that runs programs on this host; they request instances from the cloud."""

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a program here; an environment variable tells it which instances to request."""
        told = dict(environment or {})
        assert isinstance(self.spec, CloudSpec)
        if self.spec.cloud is not None:
            told[WANTED] = msgspec.json.encode(self.spec.cloud).decode()
        return super().run(command, timeout_s=timeout_s, environment=told, check=check)


CLOUD = Kind(
    name=KIND,
    spec=CloudSpec,
    make=Clouds,
    clean={lxd.KIND: lxd.give_back, remote.KIND: providers.give_back},
    on_host=True,
    any_program=False,
)
