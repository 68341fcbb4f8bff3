"""`aferir serve` from a user's point of view: an address that answers, and an orderly end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from aferir.cli import main
from tests.unit.store.many_runs import make


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("serve") / "runs"
    make(folder, 3)
    return folder


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_the_address_that_is_printed_answers_until_a_signal_ends_it(
    runs: Path, ending: signal.Signals
) -> None:
    command = [sys.executable, "-m", "aferir", "serve", str(runs), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        assert started.stdout is not None
        assert started.stderr is not None
        url = json.loads(started.stdout.readline())["url"]
        with urlopen(url) as answer:  # noqa: S310 - the address is ours
            assert b"made-up-002" in answer.read()
        started.send_signal(ending)
        assert started.wait() == 0
        assert started.stderr.read() == b""


def test_static_files_are_written_and_named(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", str(runs), "--export", str(tmp_path)]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "index.html")
    assert (tmp_path / "run/made-up-000/report.html").is_file()


def test_a_file_in_place_of_a_folder_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["serve", str(tmp_path / "file")]) == 2
    assert "is no folder" in capsys.readouterr().err
