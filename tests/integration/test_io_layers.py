"""Programs of I/O in one guest and in two at once: the accounts of host and guests add up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import pytest

from aferir import probes, registry, runner
from aferir.model.plan import EnvironmentSpec, Parameter, Plan, ServerSpec, WorkloadSpec, once
from aferir.model.record import Record
from aferir.probes import frequency
from aferir.programs.kernels import kernel_path
from aferir.report.analyse import analyse
from aferir.report.io_costs import cost_of
from aferir.report.write.markdown import markdown
from tests.integration.support import leftovers, own_state, usable

pytestmark = pytest.mark.integration
PROGRAMS: Mapping[str, dict[str, Parameter]] = {
    "wordcount": {"file_bytes": 2**20, "terms": 2000},
    "checkpoint": {"segments": 1, "block_bytes": 2**20},
}
GUEST = EnvironmentSpec(name="vm", kind="vm", cpus=1, memory_bytes=2**28)
ENVIRONMENTS = (
    GUEST,
    msgspec.structs.replace(GUEST, name="two-vms", tenants=2),
)
SERVER = ServerSpec(cores=2, peak_w=400.0, idle_fractions=(0.0,))


def plan() -> Plan:
    specs = [
        WorkloadSpec(name=name, program=name, parameters=given, time_limit_s=1200)
        for name, given in PROGRAMS.items()
    ]
    return once(
        "layers", environments=ENVIRONMENTS, workloads=specs, time_limit_s=3600, server=SERVER
    )


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[Record]]:
    with pytest.MonkeyPatch.context() as patch:
        own_state(tmp_path_factory, patch)
        environment = usable("vm")
        ran = runner.run(
            plan(),
            tmp_path_factory.mktemp("run"),
            experiment=b"",
            kinds={
                environment.kind: msgspec.structs.replace(
                    registry.kinds()[environment.kind], make=lambda _: environment
                )
            },
            workloads=registry.all_programs(),
            watch=runner.Watch(probes.all_probes(), kernel_path(frequency.PROGRAM)),
        )
        yield [record for record in ran.records if record.workload != "allocation"]
        assert leftovers() == []


def figures(record: Record) -> dict[tuple[str, str], float]:
    return {(sample.metric, sample.side): sample.value for sample in record.samples}


def test_each_program_verifies_in_one_guest_and_in_two(records: Sequence[Record]) -> None:
    assert {record.cell for record in records} == {cell.id for cell in plan().cells}
    assert [record.failure for record in records] == [None] * len(records)


def test_a_guests_processors_are_a_part_of_what_the_host_sees(records: Sequence[Record]) -> None:
    """A clock that ticks may have seen nothing of one short run."""
    seen = [figures(record) for record in records]
    parts = ("guest", "user", "system")
    assert min(one[f"instance_{part}_s", "host"] for one in seen for part in parts) >= 0
    assert sum(one["instance_guest_s", "host"] for one in seen) > 0


def test_layers_add_up_to_what_the_host_sees_of_the_guests(records: Sequence[Record]) -> None:
    specs = {spec.name: spec for spec in ENVIRONMENTS}
    own_s = 0.0
    for record in records:
        whole = [one for one in record.samples if not one.metric.startswith("timed_")]
        run = cost_of(
            msgspec.structs.replace(record, samples=tuple(whole)),
            specs[record.environment],
            SERVER,
        )
        assert run is not None
        seen = figures(record)
        host = sum(seen[f"instance_{part}_s", "host"] for part in ("user", "system", "guest"))
        busy = {state: run.states_s[state] for state in ("user", "system", "virtual")}
        assert sum(busy.values()) == pytest.approx(host)
        assert min(busy.values()) >= 0
        own_s += busy["user"] + busy["system"]
    assert own_s > 0


def test_two_guests_do_twice_the_operations(records: Sequence[Record]) -> None:
    specs = {spec.name: spec for spec in ENVIRONMENTS}
    for program in PROGRAMS:
        counts = {
            record.environment: cost.operations
            for record in records
            if record.workload == program
            and (cost := cost_of(record, specs[record.environment], SERVER)) is not None
        }
        assert counts["two-vms"] == 2 * counts["vm"]


def test_the_report_shows_the_layers_marked_as_emulated(
    records: Sequence[Record],
) -> None:
    evaluation = analyse(plan(), list(records))
    text = markdown(evaluation)
    assert "virtualisation cycles" in text
    assert evaluation.io is not None
    for cell in evaluation.io.cells:
        assert sum(cell.layers.values()) == pytest.approx(cell.cpio.value)
        assert cell.layers["vm"] > 0
        assert cell.emulated == any(
            warning.code == "emulated"
            for record in records
            if record.cell == cell.cell
            for warning in record.warnings
        )
