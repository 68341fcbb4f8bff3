"""A real cluster of Dask on loopback, its scheduler and workers in processes of their own."""

from __future__ import annotations

import contextlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HAS_DASK = importlib.util.find_spec("distributed") is not None
needs_dask = pytest.mark.skipif(not HAS_DASK, reason="needs pip install 'aferir[dask]'")

_CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=int(sys.argv[1]), threads_per_worker=1, dashboard_address=None,
                      host="127.0.0.1") as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@contextlib.contextmanager
def dask_cluster(workers: int, folder: Path) -> Iterator[str]:
    """Run a cluster and return the scheduler's address; `folder` is for temporary files."""
    script = folder / "cluster.py"
    script.write_text(_CLUSTER)
    child = subprocess.Popen(
        [sys.executable, str(script), str(workers)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    assert child.stdout is not None
    try:
        address = child.stdout.readline().strip()
        assert address
        yield address
    finally:
        child.communicate()
