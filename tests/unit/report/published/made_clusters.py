"""Made-up runs of virtual clusters, for the published tables about them."""

from __future__ import annotations

from aferir.report.model import Evaluation
from tests.unit.report.published.runs import Made, cluster, evaluated, native


def clusters() -> Evaluation:
    """The host and a cluster of guests, at one and at two processes for each of two processors."""
    programs = {
        "lattice-boltzmann": {"throughput_gflops": 2.0},
        "effective-bandwidth": {"b_eff_bps": 4e8},
    }
    cells = [
        Made(
            spec=spec,
            program=program,
            factors={"processes": n},
            samples={metric: value * share for metric, value in samples.items()},
            workload=program,
        )
        for program, samples in programs.items()
        for n in (2, 4)
        for spec, share in ((native(), 1.0), (cluster(nodes=1, node_kind="vm"), 0.8))
    ]
    return evaluated(*cells)


def concurrent() -> Evaluation:
    """One to three clusters at once; each further one makes them a quarter slower."""
    cells = [
        Made(
            spec=cluster(f"cluster[tenants={tenants}]", nodes=3, tenants=tenants),
            program="lattice-boltzmann",
            factors={"environment.tenants": tenants, "processes": n},
            samples={"duration_s": 1 + 0.25 * (tenants - 1)},
        )
        for tenants in (1, 2, 3)
        for n in (1, 2, 4)
    ]
    return evaluated(*cells, baseline="cluster")


def distributions() -> Evaluation:
    """Two userlands at three loads, and programs of 32 and 64 bits at two."""
    userlands = [
        Made(
            spec=spec,
            program="lattice-boltzmann",
            parameters={"processes": n},
            samples={"throughput_gflops": speed},
            workload=f"lbm-{n}",
        )
        for n in (1, 4)
        for spec, speed in ((cluster("one"), 1.0), (cluster("two", suite="trixie"), 0.75))
    ]
    bits = [
        Made(
            spec=cluster("one"),
            program="lattice-boltzmann",
            parameters={"bits": b, "threads": n},
            samples={"throughput_gflops": speed},
            workload=f"lbm-{b}-{n}",
        )
        for n in (1, 4)
        for b, speed in ((32, 1.0), (64, 0.8))
    ]
    return evaluated(*userlands, *bits, baseline="one")
