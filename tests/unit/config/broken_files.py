"""Broken experiment files, by what is wrong with each."""

from __future__ import annotations

from tests.unit.config import broken_documents as documents
from tests.unit.config import broken_environments as environments
from tests.unit.config import broken_experiment as experiment
from tests.unit.config import broken_factors as factors
from tests.unit.config import broken_workloads as workloads
from tests.unit.config.broken_pieces import Broken

BROKEN: dict[str, Broken] = {
    **documents.BROKEN,
    **experiment.BROKEN,
    **environments.BROKEN,
    **workloads.BROKEN,
    **factors.BROKEN,
}
