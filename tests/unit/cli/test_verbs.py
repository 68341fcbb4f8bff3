"""A wrong command line is refused with the remedy."""

from __future__ import annotations

import pytest

from aferir.cli import main


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "`aferir --help` lists the verbs"),
        (["--jsn"], "aferir: there is no option `--jsn`"),
        (["mesure", "--", "true"], "did you mean `measure`?"),
        (["first.toml"], "aferir run first.toml"),
        (["--json", "list"], "options follow their verb: aferir list --json"),
        (["clock", "--json", "check"], "options follow their verb: aferir clock check --json"),
        (
            ["list", "--jsn"],
            "`--jsn`\n  remedy: did you mean `--json`? `aferir list --help` lists the options",
        ),
        (["list", "--zz"], "there is no option `--zz`\n  remedy: `aferir list --help` lists"),
        (["explain", "--inn=podman", "--", "true"], "there is no option `--inn`"),
        (["list", "runs"], "`runs` is one argument too many"),
        (["report"], "`aferir report --help` explains all arguments"),
        (["clock", "simulate", "--nodes", "many"], "--nodes: 'many' is no whole number"),
        (["clock", "simulate", f"--nodes={10**20}"], f"--nodes: {10**20} is too large"),
    ],
    ids=str,
)
def test_a_wrong_command_line_is_refused_with_the_remedy(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
