"""Files that a command needs, packages that an image lacks for it, and its command line."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from aferir.errors import UsageError
from aferir.model.checking import convert
from aferir.programs.command import bundle, lookup
from aferir.programs.command.parameters import CommandParameters
from aferir.programs.command.program import COMMAND

STATUS = """Package: base
Essential: yes
Status: install ok installed
Depends: liba (>= 1), libmissing | libb:any

Package: liba
Status: install ok installed

Package: libb
Status: install ok installed
Pre-Depends: libc

Package: libc
Status: install ok installed

Package: tool
Status: install ok installed
Depends: libc

Package: gone
Status: deinstall ok config-files
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AFERIR_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    (kernels / "launch").write_text("", encoding="utf-8")
    (kernels / "launch").chmod(0o755)
    monkeypatch.setenv("AFERIR_KERNELS", str(kernels))
    return folder


def test_a_folder_is_no_program_and_is_not_packed(cache: Path) -> None:
    (cache / "src").mkdir()
    for folder in ("./src", "/usr"):
        with pytest.raises(UsageError, match="is a folder"):
            COMMAND.command(parameters(command=folder))


def parameters(**table: object) -> CommandParameters:
    values, wrong = convert(CommandParameters, table)
    assert values is not None, wrong
    return values


def test_relative_files_keep_their_place_and_others_their_name() -> None:
    named = ["a/b.txt", "./c", "../d.txt", "/etc/e"]
    assert list(bundle.placed(named).values()) == ["a/b.txt", "c", "d.txt", "e"]
    with pytest.raises(UsageError, match="two of the files"):
        bundle.placed(["a", "../a"])


@pytest.mark.parametrize(
    ("named", "files", "inside"),
    [
        ("numbers", ["numbers"], "numbers"),
        ("../here/numbers", ["../here/numbers"], "numbers"),
        ("data/numbers", ["data"], "data/numbers"),
        ("made-there", ["numbers"], "made-there"),
        ("/etc/hostname", ["numbers"], "/etc/hostname"),
    ],
)
def test_an_input_is_named_as_it_is_called_there(
    cache: Path, named: str, files: list[str], inside: str
) -> None:
    (cache / "data").mkdir()
    for name in ("numbers", "data/numbers"):
        (cache / name).write_text("1", encoding="utf-8")
    made = COMMAND.command(parameters(command="sort", input=named, files=files))
    assert made.arguments[made.arguments.index("--input") + 1] == inside


def test_the_archive_changes_with_its_files_alone(cache: Path) -> None:
    (cache / "data").mkdir()
    (cache / "data" / "x").write_text("1", encoding="utf-8")
    (cache / "data" / "link").symlink_to("x")
    os.mkfifo(cache / "data" / "pipe")
    first = bundle.archive(["data"])
    assert bundle.archive(["data"]) == first
    with tarfile.open(first) as tar:
        assert tar.getnames() == ["data", "data/link", "data/x"]
        assert tar.getmember("data/link").issym()
    (cache / "data" / "x").write_text("2", encoding="utf-8")
    assert bundle.archive(["data"]) != first


def test_a_file_may_have_a_name_that_is_no_text(cache: Path) -> None:
    name = os.fsdecode(b"\xff")
    (cache / name).write_text("x", encoding="ascii")
    with tarfile.open(bundle.archive([name])) as packed:
        assert packed.getnames() == [name]


def test_archives_that_a_run_may_still_copy_stay_however_many_others_come(cache: Path) -> None:
    made = []
    for number in range(25):
        (cache / "x").write_text(str(number), encoding="utf-8")
        made.append(bundle.archive(["x"]))
    assert all(path.is_file() for path in made)
    for path in made[:10]:
        os.utime(path, (0, 0))
    (cache / "x").write_text("last", encoding="utf-8")
    bundle.archive(["x"])
    assert sum(path.is_file() for path in made[:10]) == 4
    assert all(path.is_file() for path in made[10:])


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="no file nothing"):
        bundle.archive(["nothing"])


def test_files_without_end_are_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MOST_BYTES", 10)
    (cache / "x").write_bytes(bytes(11))
    with pytest.raises(UsageError, match="larger"):
        bundle.archive(["x"])


def test_an_image_lacks_what_its_own_packages_do_not_bring(tmp_path: Path) -> None:
    status = tmp_path / "status"
    status.write_text(STATUS, encoding="utf-8")
    made = lookup.Made(path="/usr/bin/tool", owners={"": "tool", "libc.so.6": "libc"})
    assert lookup.missing_packages(made, [], status) == ("tool",)
    assert lookup.missing_packages(made, ["tool"], status) == ()
    own = lookup.Made(path="/home/x", owners={"libc.so.6": "libc", "liba.so": "liba"})
    assert lookup.missing_packages(own, [], status) == ()
    assert lookup.missing_packages(lookup.Made(), [], status) == ()
    assert lookup.missing_packages(made, [], tmp_path / "none") == ()


def test_a_program_of_ones_own_is_taken_along(cache: Path) -> None:
    (cache / "it").write_text("#!/bin/sh\n", encoding="utf-8")
    (cache / "it").chmod(0o755)
    command = COMMAND.command(parameters(command=["./it", "a b"]))
    assert command.arguments[-3:] == ("--", "./it", "a b")
    with tarfile.open(command.files[0]) as tar:
        assert tar.getnames() == ["it"]


def test_a_whole_folder_covers_its_programs(cache: Path) -> None:
    (cache / "it").write_text("#!/bin/sh\n", encoding="utf-8")
    command = COMMAND.command(parameters(command="./it", files=["."]))
    with tarfile.open(command.files[0]) as tar:
        assert sorted(tar.getnames()) == [".", "it"]


def test_words_that_name_files_from_elsewhere_name_them_as_they_are_there(tmp_path: Path) -> None:
    (tmp_path / "far").write_text("x", encoding="utf-8")
    far = str(tmp_path / "far")
    command = COMMAND.command(parameters(command=["cat", far], files=[far]))
    assert command.arguments[-2:] == ("cat", "far")


def test_a_system_program_is_looked_up_inside() -> None:
    command = COMMAND.command(parameters(command="sh -c true"))
    assert command.files == ()
    assert command.environment["PATH"] == lookup.SYSTEM_PATH


def test_a_script_is_for_the_shell_and_options_for_the_launcher() -> None:
    command = COMMAND.command(
        parameters(
            script="echo 1 | cat\necho 2",
            prepare="true",
            input_text="1\n2",
            expect_sha256="ab" * 32,
            figures={"x": "last", "y": "csv@out.csv:a b"},
            variables=["A=1 2"],
        )
    )
    assert command.arguments[-4:] == ("--", "sh", "-c", "echo 1 | cat\necho 2")
    for pair in (("--prepare", "true"), ("--input-text", "1\n2"), ("--report", "out.csv")):
        place = command.arguments.index(pair[0])
        assert command.arguments[place + 1] == pair[1]
    assert "--hash" in command.arguments
    assert command.environment["A"] == "1 2"


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({}, "command"),
        ({"command": "a", "script": "b"}, "command"),
        ({"command": "a", "input": "f", "input_text": "t"}, "input_text"),
        ({"command": "a", "ready": "port 80"}, "ready"),
        ({"command": "a", "output": "o", "expect": "1"}, "expect"),
        ({"command": "a 'b"}, "command"),
        ({"command": "a", "figures": ["rate"]}, "figures"),
        ({"command": "a", "variables": ["1A=2"]}, "variables"),
        ({"command": "a", "packages": ["-rm"]}, "packages"),
        ({"command": "a", "exit_codes": "none"}, "exit_codes"),
        ({"command": "a", "expect_sha256": "12"}, "expect_sha256"),
        ({"command": "a", "service": "s", "ready": "soon"}, "ready"),
    ],
)
def test_what_is_wrong_is_told_of_its_key(table: dict[str, object], key: str) -> None:
    values, wrong = convert(CommandParameters, table)
    if values is not None:
        wrong = tuple(COMMAND.validate(values))
    assert [one.key for one in wrong] == [key]
    assert all(one.message and one.remedy for one in wrong)
