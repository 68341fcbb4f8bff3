"""Rows of published tables that studies at their documents' scale can have a figure beside."""

from __future__ import annotations

import pytest

from aferir.config import parse
from aferir.model.plan import Cell, EnvironmentSpec, HostLimits
from aferir.model.record import Series
from aferir.registry import all_programs, kinds
from aferir.report.model import Evaluation
from aferir.report.published.compare import beside, load
from tests.checkout import ROOT
from tests.unit.report.published.runs import Made, evaluated

PROCESSORS = 2
"""Processors that the files of clusters are written for: half, one and two processes for each."""
HOST = HostLimits(cpus=tuple(range(PROCESSORS)), memory_bytes=32 * 2**30)
STUDIES = {
    "vod_streams_per_host": ("vod-capacity", "vod-capacity-guests"),
    "vod_blocking": ("elasticmovie",),
    "server_power": ("server-power",),
    "ntp_corrections": ("clock-ntp",),
    "rgap_sync": ("clock-mpi",),
    "ocean_rgap_vs_ntp": ("ocean-noise",),
    "nic_aggregation": ("npb-aggregation", "messages-aggregation", "npb-tenants"),
    "virtual_cluster": ("cluster-real-versus-virtual",),
    "virtual_cluster_concurrency": ("cluster-concurrency",),
    "distribution_effect": ("cluster-distributions",),
}
"""Experiment files that answer a table by figures of their programs."""
FIGURES = dict.fromkeys(
    (
        *("streams", "blocked_percent", "clients_per_node", "correction_mean_s", "sync_s"),
        *("exchanges", "ntp_like_difference_s", "throughput_gflops", "b_eff_bps"),
        *("most_throughput_bps", "power_w", "cpu_used"),
    ),
    1.0,
)
KERNELS = (None, "ft", "is")
"""Kernels of NPB whose cells are evaluated; the other ones have no row of their own."""
SWEEP = Series(
    metric="throughput_bps",
    unit="B/s",
    values=(1.0, 2.0),
    along="message_bytes",
    at=(1024.0, 30_000.0),
)


@pytest.mark.parametrize("table", STUDIES)
def test_each_row_has_a_figure_of_a_study_at_its_documents_scale(table: str) -> None:
    known = [one for one in load(ROOT / "reference") if one.table.name == table]
    answered = {
        row.what
        for name in STUDIES[table]
        for found in beside(known, made_up(name), processors=PROCESSORS)
        for row in found.rows
        if row.ours
    }
    assert answered == {row.what for one in known for row in one.rows if row.find is not None}


def made_up(name: str) -> Evaluation:
    """Evaluation of a run of an experiment file, with figures that are made up."""
    content = (ROOT / "experiments" / f"{name}.toml").read_bytes()
    plan = parse(content, HOST, all_programs(), kinds())
    specs = {spec.name: spec for spec in plan.environments}
    cells = [cell for cell in plan.cells if cell.workload.parameters.get("kernel") in KERNELS]
    figures = [made(specs[cell.environment], cell) for cell in cells]
    return evaluated(*figures, baseline=plan.baseline)


def made(spec: EnvironmentSpec, cell: Cell) -> Made:
    return Made(
        spec=spec,
        program=cell.workload.program,
        parameters=cell.workload.parameters,
        factors=cell.factors,
        samples=FIGURES,
        series=(SWEEP,) if cell.workload.program == "net-sweep" else (),
        workload=cell.workload.name,
    )
