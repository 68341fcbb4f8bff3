"""Reads and validates the settings of `aferir colocate`, from the command line or from TOML."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import Annotated

import msgspec

from aferir.colocation import service
from aferir.colocation.critical import Matcher, Selector
from aferir.colocation.job import Job, Served
from aferir.colocation.settings import Sla
from aferir.config.latency import sensor
from aferir.errors import UsageError
from aferir.model.units import parse_duration

__all__ = [
    "Wanted",
    "WantedService",
    "job",
    "need_batch",
    "parameters",
    "parse_sla",
    "read",
    "sensor",  # scripts start sensors by this module's name
]

_PERIODS_S = (0.02, 10.0)
_MOST_SHARE = 100
_MOST_PORT = 65_535
_SLA_REMEDY = "e.g. --sla p95=200ms"


class WantedService(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One service as it is written in the file or on the command line."""

    service: str = ""
    sla: str = ""
    latency: str = ""
    """Source of the service's latencies."""
    no_answer: tuple[str, ...] = ()
    """Regular expressions for lines of a log that are no responses, such as long polls."""
    threads: tuple[str, ...] = ()
    """Regular expressions for names of critical threads, of which the kernel stores 15 characters.
    """
    java: tuple[str, ...] = ()
    """Regular expressions for the full names of Java threads. Without `threads` and `java`,
    critical threads are identified at run time.
    """


class Wanted(WantedService, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of `aferir colocate` as they are written in the file or on the command line."""

    services: tuple[WantedService, ...] = ()
    """Several services; a single one may be described by keys of this table instead."""
    batch: tuple[str, ...] | str = ()
    """Command of the batch program; a single string is split as a shell would split it."""
    policy: str = "aferir"
    parameters: dict[str, int | float] = {}
    """Parameters of the policy `aferir`; only in the file."""
    batch_share: str | int | float = ""
    """Policy parameter `batch_share`, as a number or a percentage: `0.5` or `50%`."""
    period: str = "100 ms"
    repeat: bool = False
    metrics: str = ""
    """File for OpenMetrics text."""
    metrics_port: Annotated[int, msgspec.Meta(ge=0, le=_MOST_PORT)] | None = None
    """Port of 127.0.0.1 on which OpenMetrics text is served; 0: a free one."""

    @property
    def each(self) -> tuple[WantedService, ...]:
        """All services: the listed ones, or else the one that this table itself describes."""
        return self.services or (self,)


def read(path: Path) -> Wanted:
    """Read the settings from a TOML file. Errors: UsageError."""
    try:
        return msgspec.toml.decode(path.read_bytes(), type=Wanted)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}", remedy="name a file that is there"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}", remedy="see docs/reference/colocation.md") from None


def job(wanted: Wanted, *, batch_output: int = 1) -> Job:
    """Make the controller's job from the settings. Errors: UsageError."""
    if not 0 <= (wanted.metrics_port or 0) <= _MOST_PORT:
        raise UsageError(
            f"--metrics-port {wanted.metrics_port}: a port is a number from 0 to {_MOST_PORT}",
            remedy="e.g. --metrics-port 9110",
        )
    if wanted.services and wanted.service:
        raise UsageError(
            "services are named twice, one by `service` and others by `services`",
            remedy="write each of them as a table [[services]]",
        )
    command = tuple(shlex.split(wanted.batch)) if isinstance(wanted.batch, str) else wanted.batch
    return Job(
        services=tuple(map(_served, wanted.each)),
        command=command,
        period_s=_period(wanted.period),
        repeat=wanted.repeat,
        metrics=Path(wanted.metrics) if wanted.metrics else None,
        batch_output=batch_output,
    )


def _served(wanted: WantedService) -> Served:
    for name in ("service", "sla", "latency"):
        if not getattr(wanted, name):
            raise UsageError(f"--{name} is missing", remedy=_EXAMPLE)
    selector = Selector(names=wanted.threads, java=wanted.java)
    Matcher(selector)  # complains of what is no regular expression
    return Served(
        service=service.parse_spec(wanted.service),
        sla=parse_sla(wanted.sla),
        selector=selector,
    )


def parameters(wanted: Wanted) -> dict[str, int | float]:
    """Parameters of the policy. Errors: UsageError."""
    if wanted.batch_share == "":
        return wanted.parameters
    text = str(wanted.batch_share)
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 <= share <= _MOST_SHARE:
        raise UsageError(
            f"--batch-share {text}: a share is a number from 0 to {_MOST_SHARE}, or a percentage",
            remedy="1 is the weight of one process of normal priority, 0: it yields to all",
        )
    return {**wanted.parameters, "batch_share": share}


def need_batch(job: Job) -> None:
    """Require a batch program. Errors: UsageError if there is none."""
    if not job.command:
        raise UsageError("there is no batch program to run", remedy=_EXAMPLE)


_EXAMPLE = (
    "aferir colocate --service unit:nginx --sla p95=200ms"
    " --latency nginx:/var/log/nginx/access.log -- xz -9 FILE"
)


def parse_sla(text: str) -> Sla:
    """Parse an SLA such as `p95=200ms`. Errors: UsageError."""
    try:
        return Sla.parse(text)
    except ValueError as error:
        raise UsageError(f"--sla {text}: {error}", remedy=_SLA_REMEDY) from None


def _period(text: str) -> float:
    try:
        period_s = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--period {text}: {error}", remedy="e.g. --period 100ms") from None
    if not _PERIODS_S[0] <= period_s <= _PERIODS_S[1]:
        raise UsageError(
            f"--period {text}: a control period has {_PERIODS_S[0]:g} to {_PERIODS_S[1]:g} s",
            remedy="e.g. --period 100ms",
        )
    return period_s
