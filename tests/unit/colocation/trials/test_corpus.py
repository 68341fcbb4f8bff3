"""Passages of text from this machine, and queries from their words."""

from __future__ import annotations

import gzip
from pathlib import Path

from aferir.colocation.trials.corpus import Passage, passages, plain, questions


def test_markup_is_no_text() -> None:
    manual = b'.\\" a remark\n.SH NAME\nls \\- list \\fBdirectory\\fP contents\n.PP\nMore.\n'
    told = "NAME ls list directory contents More."
    assert " ".join(plain("ls.1.gz", manual).split()) == told
    assert plain("index.html", b"<p class='x'>words</p>").split() == ["words"]
    assert plain("README", b"a < b and c > d") == "a < b and c > d"
    assert plain("data", b"a\0b") == ""


def test_passages_together_are_the_text_up_to_the_bytes_asked_for(tmp_path: Path) -> None:
    text = "\n\n".join(f"paragraph {k} " + "word " * 50 for k in range(400))
    with gzip.open(tmp_path / "a.txt.gz", "wt", encoding="utf-8") as file:
        file.write(text)
    (tmp_path / "broken.gz").write_bytes(b"no archive")
    paths = [tmp_path / "broken.gz", tmp_path / "a.txt.gz"]
    made = list(passages(paths, 1 << 30))
    assert "".join(one.body for one in made).split() == text.split()
    assert all(len(one.body) <= 4096 for one in made)
    some = list(passages(paths, 10_000))
    assert some == made[: len(some)]
    assert 10_000 <= sum(len(one.body) for one in some) < 10_000 + 4096


def test_questions_are_words_of_the_text_and_the_same_for_the_same_seed() -> None:
    texts = [
        Passage("a", "Kernel scheduler of the machine; scheduler4 x"),
        Passage("b", "words"),
    ]
    made = questions(texts, 50, seed=3)
    assert made == questions(texts, 50, seed=3)
    assert made != questions(texts, 50, seed=4)
    assert {word for one in made for word in one} <= {"scheduler", "machine", "words"}
    assert all(2 <= len(one) <= 4 for one in made)
