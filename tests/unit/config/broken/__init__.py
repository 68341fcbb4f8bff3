"""Broken experiment files, by what is wrong with each."""

from __future__ import annotations

from tests.unit.config.broken import documents, environments, experiment, factors, workloads
from tests.unit.config.broken.pieces import Broken

BROKEN: dict[str, Broken] = {
    **documents.BROKEN,
    **experiment.BROKEN,
    **environments.BROKEN,
    **workloads.BROKEN,
    **factors.BROKEN,
}
