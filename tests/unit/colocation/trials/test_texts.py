"""Documentation for the search engines: the packages it comes from, and its completeness."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from aferir.colocation.trials import corpus, texts
from aferir.errors import MissingError, ProgramError
from aferir.linux import process
from aferir.linux.process import Completed

_KNOWN = ["python3.9-doc", "python3.11-doc", "cmake-doc", "python3.11-docs", "my-cmake-doc"]


class Apt:
    """Knows packages of which each has one page."""

    def __init__(self, known: Sequence[str], fails: str = "") -> None:
        self.known = known
        self.fails = fails
        self.downloaded: list[str] = []

    def run(self, command: Sequence[str], **given: object) -> Completed:
        if command[:2] == ["apt-cache", "pkgnames"]:
            return Completed(tuple(command), 0, "\n".join(self.known), "", 0, 0.0)
        name = command[-1]
        if command[0] == "apt-get":
            if name == self.fails:
                raise ProgramError("no network")
            self.downloaded.append(name)
            assert isinstance(given["directory"], Path)
            (given["directory"] / f"{name}.deb").touch()
        else:
            page = Path(name, "usr", "share", "doc", Path(command[2]).stem, "page.html")
            page.parent.mkdir(parents=True)
            page.write_text("<p>some words</p>")
        return Completed(tuple(command), 0, "", "", 0, 0.0)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AFERIR_CACHE", str(tmp_path))
    monkeypatch.setattr(texts, "missing", lambda _: [])
    return tmp_path


def test_of_several_versions_the_newest_is_chosen_and_nothing_of_another_name() -> None:
    assert texts.choose(_KNOWN) == ["cmake-doc", "python3.11-doc"]


def test_what_is_fetched_is_searched_in_and_not_fetched_again(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    apt = Apt(_KNOWN)
    monkeypatch.setattr(process, "run", apt.run)
    assert texts.folders() == ()
    assert texts.fetch() == texts.fetch() == cache / "texts"
    assert apt.downloaded == ["cmake-doc", "python3.11-doc"]
    found = {path for path in corpus.files(texts.folders()) if cache in path.parents}
    assert {path.parent.name for path in found} == set(apt.downloaded)
    assert [one.body.split() for one in corpus.passages(found, 100)] == 2 * [["some", "words"]]


def test_what_was_interrupted_is_no_text_and_the_rest_stays(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    monkeypatch.setattr(process, "run", Apt(_KNOWN, fails="python3.11-doc").run)
    with pytest.raises(MissingError, match="could not download"):
        texts.fetch()
    assert [path.name for path in (cache / "texts").iterdir()] == ["cmake-doc"]
    monkeypatch.setattr(process, "run", Apt(_KNOWN).run)
    texts.fetch()
    assert sorted(path.name for path in cache.iterdir()) == ["texts"]


def test_apt_without_lists_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "run", Apt(["vim"]).run)
    with pytest.raises(MissingError, match="no package of documentation") as caught:
        texts.fetch()
    assert caught.value.remedy == "apt-get update"
