"""Every command of every page runs: `make docs-test`, within an hour or so, as root.

The blocks of a page run in their order in one new folder, which has the checkout's files as a
reader has them, but for experiments, which are shortened. Blocks that cannot run here carry their
reason: see tests/docs/blocks.py.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.docs.blocks import Block, bash_arguments, blocks_of_all_pages
from tests.docs.shortened import shorten

_LIMIT_S = 1800  # of one block: README's four commands take minutes each on a busy machine
_EXECUTABLE = ("sh", "console")
PAGES = [
    pytest.param(list(found), id=page)
    for page, found in itertools.groupby(
        (block for block in blocks_of_all_pages() if block.language in _EXECUTABLE),
        key=lambda block: block.page,
    )
]


@pytest.mark.timeout(0)
@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_the_page_runs(page: list[Block], tmp_path: Path) -> None:
    copied = ["git", "checkout-index", "--all", f"--prefix={tmp_path}/"]
    subprocess.run(copied, cwd=ROOT, check=True)
    shorten(tmp_path / "experiments")
    left_out = [f"{block.place}: {block.not_run}" for block in page if block.not_run]
    print(*left_out, sep="\n")  # noqa: T201 - shown with -rA, and where a page fails
    for block in page:
        if block.not_run is None:
            assert _run(block, tmp_path) in block.exit_codes, block.place


def _run(block: Block, folder: Path) -> int:
    """Run a block in a shell; return its exit code."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "120",
        # Open MPI refuses root, and more ranks than cores: a reader has other rights and machines.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }
    with subprocess.Popen(
        [shutil.which("bash") or "/bin/bash", *bash_arguments(block)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    ) as shell:
        try:
            return shell.wait(_LIMIT_S)
        finally:  # also what it left in the background, such as a server
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGTERM)
