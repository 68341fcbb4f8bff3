"""The command line from a user's point of view: answers, exit codes, and no traceback."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from aferir.cli import main
from aferir.linux import process
from aferir.linux.process import Completed

EXPERIMENT = """
[experiment]
name = "small"
title = "A small run"
baseline = "native"
warmup = 0
time_limit = "1 h"

[stop]
repetitions = 2

[[environment]]
name = "native"
kind = "native"
cpus = 1
memory = "256 MiB"

[[workload]]
name = "CG"
program = "npb"
kernel = "cg"
class = "S"
threads = 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    (tmp_path / "small.toml").write_text(EXPERIMENT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def aferir(folder: Path, *arguments: str) -> Completed:
    return process.run([sys.executable, "-m", "aferir", *arguments], directory=folder, check=False)


def run_folders(folder: Path) -> list[Path]:
    return sorted((folder / "runs").glob("small-*"))


def test_help_names_every_verb_and_exit_code(folder: Path) -> None:
    done = aferir(folder, "--help")
    assert done.exit_code == 0
    for word in ("doctor", "run", "report", "compare", "list", "clean", "bench", "exit codes"):
        assert word in done.stdout


def test_bash_completes_verbs_and_the_options_of_each(folder: Path) -> None:
    script = folder / "completion"
    script.write_text(aferir(folder, "completion", "bash").stdout, encoding="utf-8")

    def completed(*words: str) -> list[str]:
        line = " ".join(f"'{word}'" for word in words)
        code = f"""
            source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}
            _shtab_aferir aferir '{words[-1]}' '{words[-2]}'
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        return process.run(["bash", "-c", code], directory=folder).stdout.split()

    assert completed("aferir", "doc") == ["doctor"]
    assert completed("aferir", "clock", "se") == ["serve"]
    assert "--only" in completed("aferir", "bench", "--")


def test_the_command_line_imports_nothing_heavy_before_it_is_needed(folder: Path) -> None:
    code = "import sys, aferir.cli; print(*sys.modules)"
    code += "; import aferir.runner, aferir.report.analyse; print(*sys.modules)"
    done = process.run([sys.executable, "-c", code], directory=folder)
    loaded, later = (set(line.split()) for line in done.stdout.splitlines())
    assert not {"scipy", "duckdb", "numpy", "rich"} & loaded
    assert not {"scipy.stats", "scipy.optimize"} & later, "half of the time of a short run"


def test_a_run_is_reported_listed_exported_and_compared(folder: Path) -> None:
    done = aferir(folder, "run", "small.toml")
    assert done.exit_code == 0, done.stderr
    (run,) = run_folders(folder)
    assert f"Report: {run.relative_to(folder)}/report.html" in done.stdout
    for name in ("report.html", "report.md", "report.json", "samples.csv", "summary.csv"):
        assert (run / name).stat().st_size > 0
    listed = json.loads(aferir(folder, "list", "--json").stdout)
    assert [(entry["name"], entry["status"]) for entry in listed] == [("small", "complete")]
    exported = aferir(folder, "report", str(run), "--parquet", "all.parquet")
    assert exported.exit_code == 0
    assert (folder / "all.parquet").read_bytes().startswith(b"PAR1")
    compared = aferir(folder, "compare", str(run), str(run), "--json")
    (cell,) = json.loads(compared.stdout)["cells"]
    assert cell["verdict"]["ratio"] == 1.0
    # A finished experiment is run anew, and told in one document.
    told = json.loads(aferir(folder, "run", "small.toml", "--json").stdout)
    (cell,) = told["evaluation"]["cells"]
    assert cell["duration"]["n"] == 2
    assert len(run_folders(folder)) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("run", "none.toml"), 2, "none.toml"),
        (("run", "small.toml", "--no-such-option"), 2, "--no-such-option"),
        (("report", "nowhere"), 2, "nowhere"),
        (("compare", "a", "b"), 2, "a is no"),
        (("bench", "no-such-bench"), 2, "npb"),
        (("bench", "npb", "--peer", "npb-cpp=nowhere"), 2, "nowhere"),
        (("bench", "npb", "--peer", "someone"), 2, "NAME=PATH"),
        (("bench", "npb", "--only", "b"), 2, "no such case"),
        (("bench", "startup", "--only", "bt"), 2, "as a whole"),
        ((), 2, "a verb is missing"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_wrong_command_line_gives_one_message_and_exit_code_2(
    arguments: tuple[str, ...], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        sys.exit(main(arguments))
    assert ended.value.code == code
    said = capsys.readouterr()
    assert words in said.err
    assert "Traceback" not in said.err + said.out


def test_a_broken_experiment_starts_nothing(folder: Path) -> None:
    (folder / "broken.toml").write_text(EXPERIMENT.replace("cpus = 1", "cpus = -1"))
    done = aferir(folder, "run", "broken.toml")
    assert done.exit_code == 2
    assert "environment[1].cpus" in done.stderr
    assert not (folder / "runs").exists()
    assert not list((folder / "state").glob("journal/*.json"))


def test_an_error_is_json_too_where_json_was_asked_for(folder: Path) -> None:
    done = aferir(folder, "run", "none.toml", "--json")
    error = json.loads(done.stdout)["error"]
    assert error["exit_code"] == done.exit_code == 2
    assert error["remedy"]


def test_checking_a_file_starts_nothing(folder: Path) -> None:
    done = aferir(folder, "run", "small.toml", "--check")
    assert done.exit_code == 0
    assert not (folder / "runs").exists()


def test_too_few_repetitions_for_a_claim_are_told_before_anything_starts(folder: Path) -> None:
    other = '[[environment]]\nname = "other"\nkind = "native"\ncpus = 1\nmemory = "1 GiB"\n'
    (folder / "two.toml").write_text(EXPERIMENT + other, encoding="utf-8")
    said = "2 repetitions are too few to claim a difference between two environments"
    assert said in aferir(folder, "run", "two.toml", "--check").stdout
    assert said in aferir(folder, "run", "two.toml", "--json").stderr
    assert "too few" not in aferir(folder, "run", "small.toml", "--check").stdout


def test_cleaning_a_clean_machine_says_so(folder: Path) -> None:
    done = aferir(folder, "clean", "--json")
    assert json.loads(done.stdout) == {"removed": [], "problems": [], "of_others": []}


def test_a_kernel_that_does_not_verify_is_an_error_and_never_a_number(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = folder / "kernels" / "npb-cg"
    fake.parent.mkdir()
    fake.write_text(
        "#!/bin/sh\n"
        'echo \'{"program":"npb-cg","verified":false,"error":"zeta is off","checks":[]}\'\nexit 1\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("AFERIR_KERNELS", str(fake.parent))
    done = aferir(folder, "run", "small.toml", "--json")
    assert done.exit_code == 1
    (cell,) = json.loads(done.stdout)["evaluation"]["cells"]
    assert cell["points"] == []
    assert "zeta is off" in cell["failures"][0]["failure"]["message"]


def test_a_fault_of_our_own_is_kept_in_a_file_and_not_shown(folder: Path) -> None:
    code = (
        "import sys; from aferir import cli\n"
        "cli.list_.execute = lambda options: 1 / 0\n"
        "sys.exit(cli.main(['list']))"
    )
    done = process.run([sys.executable, "-c", code], directory=folder, check=False)
    assert done.exit_code == 70
    assert "Traceback" not in done.stderr
    assert "ZeroDivisionError" in (folder / "state" / "fault.txt").read_text()
