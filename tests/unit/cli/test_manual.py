"""Manual pages are generated from the parsers, and the stored ones are up to date."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

import pytest

from aferir import __version__
from aferir.cli import main, manual_page, parser
from aferir.cli.verbs import declare_all
from tests.checkout import ROOT


def all_pages() -> list[manual_page.Page]:
    made = parser()
    declare_all(made)
    return manual_page.pages(made, "what a computing environment costs a program")


def example() -> manual_page.Page:
    made = argparse.ArgumentParser(
        prog="tool copy", description="Copy files.\n\nexample:\n  tool copy 'a' b"
    )
    made.add_argument("files", nargs="+", metavar="FILE", help=".hidden ones, too")
    made.add_argument(
        "-n", "--times", type=int, default=3, metavar="N", help="so often (%(default)s)"
    )
    made.add_argument("--how", choices=("fast", "safe"), help="a|b")
    made.add_argument("--secret", help=argparse.SUPPRESS)
    [page] = manual_page.pages(made, "copies files")
    return page


def test_a_page_says_what_the_parser_declares() -> None:
    page = example()
    assert page.synopsis == "tool copy [OPTION ...] FILE ..."
    assert page.operands == (manual_page.Option(("FILE ...",), ".hidden ones, too"),)
    assert [option.written for option in page.options] == [
        ("-h", "--help"),
        ("-n N", "--times N"),
        ("--how {fast,safe}",),
    ]
    assert page.options[1].meaning == "so often (3)"


def test_roff_is_escaped() -> None:
    text = manual_page.roff(example(), "1.2")
    assert "\\fB\\-n N\\fR, \\fB\\-\\-times N\\fR" in text
    assert "\n\\&.hidden ones" in text
    assert ".nf\n  tool copy \\(aqa\\(aq b\n.fi" in text


def test_markdown_is_escaped() -> None:
    text = manual_page.markdown([example()])
    assert "| `--how {fast,safe}` | a\\|b |" in text
    assert "```text\ntool copy 'a' b\n```" in text


def test_the_committed_pages_are_what_the_parsers_say() -> None:
    """Run `make reference` where this fails."""
    found = all_pages()
    folder = ROOT / "share/man/man1"
    written = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert written == {f"{page.title}.1": manual_page.roff(page, __version__) for page in found}
    reference = (ROOT / "docs/reference/verbs.md").read_text(encoding="utf-8")
    assert reference == manual_page.markdown(found)


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc is not installed")
def test_mandoc_has_no_warning() -> None:
    pages = sorted(ROOT.glob("share/man/man?/*"))
    command = ["mandoc", "-T", "lint", "-W", "warning", *map(str, pages)]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stdout == ""


def test_the_verb_prints_and_writes_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["manual", "cluster", "create"]) == 0
    assert '.TH "AFERIR\\-CLUSTER\\-CREATE" 1' in capsys.readouterr().out
    assert main(["manual", "--to", str(tmp_path)]) == 0
    assert (tmp_path / "aferir-run.1").is_file()
    assert main(["manual", "no-such"]) == 2
