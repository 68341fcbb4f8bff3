"""Checks before the first round what can run on this machine, and reports what is left out."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from aferir.environments.base import Environment, Kind
from aferir.errors import AferirError, MissingError
from aferir.model.finding import Finding
from aferir.model.parameters import names as parameter_names
from aferir.model.plan import Cell, EnvironmentSpec, Plan, environment_family
from aferir.model.provenance import LeftOut, same_reason
from aferir.model.record import Warning
from aferir.programs.base import Command, Program, read_parameters
from aferir.programs.mpi import DEFAULT
from aferir.runner.progress import Progress


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the preparation: commands to run, findings, what is left out, and images."""

    commands: dict[str, Command]
    """Command of each cell by its id; cells that are left out have no entry."""
    findings: tuple[Finding, ...]
    left_out: tuple[LeftOut, ...]
    images: dict[str, str]

    def without(self, plan: Plan) -> frozenset[str]:
        """IDs of the plan's cells that cannot run here, as they have no command."""
        return frozenset(cell.id for cell in plan.cells if cell.id not in self.commands)


def prepare(
    plan: Plan,
    kinds: Mapping[str, Kind],
    environments: Mapping[str, Environment],
    programs: Mapping[str, Program[Any]],
    *,
    progress: Progress,
    earlier: Sequence[LeftOut] = (),
) -> Ready:
    """Check the environments of a plan, build their images, and build the command of each cell.

    What an earlier start of the run left out stays out, so that all rounds have the same cells.
    Errors: MissingError if nothing at all can run.
    """
    left_out = list(earlier)
    findings: list[Finding] = []
    images: dict[str, str] = {}
    packages: dict[str, tuple[str, ...]] = {
        spec.place: spec.packages
        for spec in plan.environments  # all of a kind on a host have the same
    }
    left_out += _repeated(plan, kinds, _environments(earlier))
    for place, names in _by_place(plan, _environments(left_out)).items():
        progress.preparing(f"checking {place}")
        found, image, lacking = _environment(environments.get(place), place, packages[place])
        findings += [finding for finding in found if finding.status != "ok"]
        if lacking is None:
            images[place] = image
            continue
        left_out += [LeftOut(kind="environment", name=name, finding=lacking) for name in names]
    commands: dict[str, Command] = {}
    without: dict[tuple[str, Finding], list[Cell]] = {}
    specs = {spec.name: spec for spec in plan.environments}
    gone = _environments(left_out)
    for cell in plan.cells:
        if cell.environment in gone:
            continue
        program = programs.get(cell.workload.program)
        spec = specs[cell.environment]
        command = _command(cell, program, kind=kinds[spec.kind], host=spec.host)
        if isinstance(command, Finding):
            without.setdefault((cell.workload.name, command), []).append(cell)
        else:
            commands[cell.id] = command
    able = [cell for cell in plan.cells if cell.id in commands]
    left_out += [
        LeftOut(kind="workload", name=name, finding=finding, part=_part(cells, able))
        for (name, finding), cells in without.items()
    ]
    left_out = list(dict.fromkeys(left_out))
    for line in _descriptions(left_out):
        progress.note(line)
    if not commands:
        raise _nothing(left_out)
    return Ready(
        commands=commands,
        findings=tuple(findings),
        left_out=tuple(left_out),
        images={kind: image for kind, image in images.items() if image},
    )


def _environments(left_out: Iterable[LeftOut]) -> set[str]:
    """Names of the environments that are left out."""
    return {item.name for item in left_out if item.kind == "environment"}


def _repeated(plan: Plan, kinds: Mapping[str, Kind], left_out: Collection[str]) -> list[LeftOut]:
    """Environments of this host whose settings have the effect of another one's settings.

    A ratio of both would be noise. Of such a pair the baseline stays. Two environments with equal
    settings both stay: somebody wants to see how much two of the same differ.
    """
    first: dict[EnvironmentSpec, EnvironmentSpec] = {}
    repeated = []
    specs = [spec for spec in plan.environments if not spec.host and spec.name not in left_out]
    for spec in sorted(specs, key=lambda one: environment_family(one.name) != plan.baseline):
        other = first.setdefault(_nameless(kinds[spec.kind].settled(spec)), spec)
        if _nameless(other) != _nameless(spec):
            said = f"on this host it comes to the same as {other.name}"
            finding = Finding(spec.kind, "missing", said)
            repeated.append(LeftOut(kind="environment", name=spec.name, finding=finding))
    return repeated


def _nameless(spec: EnvironmentSpec) -> EnvironmentSpec:
    return msgspec.structs.replace(spec, name="")


def _part(cells: Sequence[Cell], able: Sequence[Cell]) -> str:
    """What `cells` of one workload share that its cells in `able` do not; empty if none is able."""
    able = [cell for cell in able if cell.workload.name == cells[0].workload.name]
    if not able:
        return ""
    every = [_marks(cell) for cell in cells]
    others = [_marks(cell) for cell in able]
    shared = [
        mark
        for mark in every[0]
        if all(mark in marks for marks in every) and not all(mark in marks for marks in others)
    ]
    return f"with {', '.join(shared)}" if shared else "in part"


def _marks(cell: Cell) -> list[str]:
    """Its environment and its levels, as the name of its group has them."""
    return [f"environment={environment_family(cell.environment)}", *cell.group.split("/")[1:]]


def _descriptions(items: Iterable[LeftOut]) -> list[str]:
    """One line for each reason: what is left out, why, and how the missing part is installed."""
    return [
        f"left out: {what}: {finding.message}" + (f"; {finding.remedy}" if finding.remedy else "")
        for what, finding in same_reason(items)
    ]


def warnings_of(plan: Plan, ready: Ready) -> tuple[Warning, ...]:
    """Warning if the baseline is left out, so that there are no ratios."""
    out = _environments(ready.left_out)
    baseline = {
        spec.name for spec in plan.environments if environment_family(spec.name) == plan.baseline
    }
    if not baseline or not baseline <= out:
        return ()
    return (
        Warning(
            "no-baseline",
            f"the baseline `{plan.baseline}` could not run here, so there are no ratios",
            "name another `baseline`, or mend what is missing",
        ),
    )


def _by_place(plan: Plan, left_out: Collection[str]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for spec in plan.environments:
        if spec.name not in left_out:
            places.setdefault(spec.place, []).append(spec.name)
    return places


def _environment(
    environment: Environment | None, kind: str, packages: tuple[str, ...]
) -> tuple[list[Finding], str, Finding | None]:
    """Check and prepare one kind; returns findings, its image's hash, and why it cannot be used."""
    if environment is None:
        return [], "", Finding(kind, "missing", "this aferir has no such environment")
    findings = environment.check()
    lacking = next((finding for finding in findings if finding.status == "missing"), None)
    if lacking is not None:
        return findings, "", lacking
    try:
        return findings, environment.prepare(packages), None
    except AferirError as error:
        return findings, "", Finding(kind, "missing", error.message, error.remedy)


def _command(
    cell: Cell, program: Program[Any] | None, *, kind: Kind, host: str
) -> Command | Finding:
    name = cell.workload.program
    if program is None:
        return Finding(name, "missing", f"this aferir has no program `{name}`")
    parameters = cell.workload.parameters
    if "mpi" in parameter_names(program.parameters):  # whatever `mpirun` is on the host
        if kind.mpi:
            parameters = {**parameters, "mpi": kind.mpi}
        elif "," in host and kind.has_image:
            parameters = {"mpi": DEFAULT, **parameters}
    try:
        command = program.command(read_parameters(program, parameters))
    except AferirError as error:
        return Finding(name, "missing", error.message, error.remedy)
    ours = str(command.program) == sys.executable
    if command.there is not None and ("," in host or (host and ours)):
        return command.there
    if host and ours:
        said = f"`{name}` is aferir itself and runs where aferir runs, not on {host}"
        return Finding(name, "missing", said, "name other environments: environments = [...]")
    return command


def _nothing(left_out: Sequence[LeftOut]) -> MissingError:
    remedies = (item.finding.remedy for item in left_out if item.finding.remedy)
    return MissingError(
        "nothing of this experiment can run here:\n  " + "\n  ".join(_descriptions(left_out)),
        remedy=next(remedies, "see `aferir doctor`"),
    )
