"""Every example of the documentation names verbs, options and keys that exist."""

from __future__ import annotations

import contextlib
import io
import subprocess
import tomllib
from pathlib import Path

import pytest

from aferir.cli import parser
from aferir.cli.mpirun import separate
from aferir.colocation import verbs as colocate
from tests.checkout import ROOT
from tests.docs.blocks import (
    LANGUAGES,
    Block,
    aferir_commands,
    bash_arguments,
    blocks,
    blocks_of_all_pages,
    script,
)
from tests.docs.shortened import shortened
from tests.docs.tables import READERS, read_experiment

BLOCKS = blocks_of_all_pages()
COMMANDS = [
    pytest.param(arguments, id=f"{block.place} {' '.join(arguments[:2])}")
    for block in BLOCKS
    if block.language in ("sh", "console")
    for arguments in aferir_commands(block)
]


def test_every_block_names_its_language() -> None:
    assert {
        block.place: block.language for block in BLOCKS if block.language not in LANGUAGES
    } == {}


def test_every_block_that_is_not_run_says_why() -> None:
    reasons = {block.place: block.not_run for block in BLOCKS if block.not_run is not None}
    assert {place for place, reason in reasons.items() if len(reason.split()) < 3} == set()
    executable = {block.place for block in BLOCKS if block.language in ("sh", "console")}
    assert reasons.keys() - executable == set(), "only commands need a reason"


@pytest.mark.parametrize("arguments", COMMANDS)
def test_the_command_line_takes_every_command(arguments: list[str]) -> None:
    printed, code = io.StringIO(), None
    with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
        try:
            parser().parse_args(colocate.separate(separate(arguments)))
        except SystemExit as end:  # 0 after --help
            code = end.code
    assert not code, printed.getvalue()


@pytest.mark.parametrize(
    "block",
    [pytest.param(block, id=block.place) for block in BLOCKS if block.language == "toml"],
)
def test_aferir_reads_every_table(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "numbers.txt").touch()
    (tmp_path / "openstack.toml").write_text('provider = "openstack"\n', encoding="utf-8")
    path = tmp_path / "block.toml"
    path.write_text(block.text, encoding="utf-8")
    READERS[block.read_as](path)


def test_marks_belong_to_the_next_block_alone() -> None:
    page = """\
<!-- not run: needs another host -->
<!-- exit code: 3, 5 -->

```sh
aferir hosts check nodes.toml
```

```console
$ aferir list \\
    --json
[]
```

<!-- first: touch a -->

Text in between.

```toml
a = 1
```
"""
    first, second, third = blocks("page.md", page)
    assert (first.not_run, first.exit_codes, first.line) == ("needs another host", (3, 5), 4)
    assert (second.not_run, second.first) == (None, "")
    assert script(second) == "aferir list \\\n    --json\n"
    assert list(aferir_commands(second)) == [["list", "--json"]]
    assert third.first == ""


@pytest.mark.parametrize(
    ("commands", "ends", "printed"),
    [
        pytest.param("(exit 5)\necho on", 0, "on\n", id="one of the exit codes"),
        pytest.param("(exit 4)\necho on", 4, "", id="another one"),
        pytest.param("fails() { (exit 4); echo on; }\nfails", 4, "", id="in a function"),
        pytest.param("echo on\n(exit 5)", 5, "on\n", id="at the end"),
    ],
)
def test_a_block_goes_on_after_the_exit_codes_of_its_mark(
    commands: str, ends: int, printed: str
) -> None:
    block = Block("page.md", 1, "sh", commands, exit_codes=(0, 5))
    run = subprocess.run(
        ["bash", *bash_arguments(block)], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (ends, printed)


def test_a_wrong_key_is_found(tmp_path: Path) -> None:
    path = tmp_path / "block.toml"
    path.write_text('[[environment]]\nname = "a"\nkind = "native"\ncpu = 1\n', encoding="utf-8")
    with pytest.raises(Exception, match="cpu"):
        read_experiment(path)


@pytest.mark.parametrize("name", [path.name for path in sorted(ROOT.glob("experiments/*.toml"))])
def test_an_experiment_is_shortened_in_its_rule_and_its_time_alone(name: str) -> None:
    text = (ROOT / "experiments" / name).read_text(encoding="utf-8")
    whole, short = tomllib.loads(text), tomllib.loads(shortened(text))
    assert short.pop("stop") == {"repetitions": 1}
    assert short["experiment"].pop("time_limit") == "3 min"
    assert short["experiment"].pop("warmup") == 0
    for one in (*whole["workload"], *short["workload"]):
        one.pop("time_limit", None)
    del whole["stop"], whole["experiment"]["time_limit"]
    whole["experiment"].pop("warmup", None)
    assert short == whole
