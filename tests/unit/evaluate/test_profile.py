from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from aferir.errors import UsageError
from aferir.evaluate.profile import load, parse

GOOD = """
[profile]
runs = ["../runs/a"]

[weights]
performance = 3
time-precision = 0.5

[elasticity]
use = "1 h"

[price]
native = 1
"""


def test_a_profile_has_weights_and_defaults() -> None:
    profile = parse(tomllib.loads(GOOD))
    assert profile.weights.of("performance") == 3
    assert profile.weights.of("time-precision") == 0.5
    assert profile.weights.of("energy") == 0
    assert profile.elasticity.use == 3600.0
    assert profile.price == {"native": 1.0}
    assert profile.general.seed == 1


def test_everything_that_is_wrong_is_said_at_once() -> None:
    bad = (
        GOOD.replace("performance = 3", "performence = 3\nenergy = -1")
        .replace("native = 1", 'native = "cheap"')
        .replace('"1 h"', '"1 parsec"')
    )
    with pytest.raises(UsageError) as error:
        parse(tomllib.loads(bad))
    for part in ("weights.performence", "weights.energy", "price.native", "elasticity.use"):
        assert part in error.value.message
    assert "docs/guides/evaluate.md" in (error.value.remedy or "")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("[profile]\nruns = []\n[weights]\nprice = 1", "is empty"),
        ('[profile]\nruns = ["r"]', "weights: are all 0"),
        ("[weights]\nprice = 1", "profile.runs: is missing"),
        ("[prices]\nx = 1", "prices: is not a key"),
    ],
)
def test_a_profile_without_runs_or_weights_is_refused(written: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse(tomllib.loads(written))


def test_what_is_no_toml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text("[profile", encoding="utf-8")
    with pytest.raises(UsageError, match="is not TOML"):
        load(tmp_path / "p.toml")


def test_a_profile_that_does_not_exist_is_asked_for_as_a_profile(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file") as error:
        load(tmp_path / "none.toml")
    assert "path of a profile; docs/guides/evaluate.md" in error.value.remedy
