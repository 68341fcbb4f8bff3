"""Shortens experiment files for `make docs-test`, which only shows that a page's command works.

How sure an experiment's figures are takes the repetitions that its file asks for, which are minutes
to an hour each. Pages run them with one repetition, no warm-up and three minutes at most; what the
time limit leaves out is in the report as such.
"""

from __future__ import annotations

import re
from pathlib import Path

_STOP = re.compile(r"^\[stop\]\n(?:.+\n)+", re.MULTILINE)
_LIMIT = re.compile(r'^time_limit = ".*"', re.MULTILINE)
_WARM_UP = re.compile(r"^warmup = .*\n", re.MULTILINE)


def shortened(text: str) -> str:
    """Return an experiment file with one repetition, no warm-up, and 3 minutes for all of it."""
    assert len(_STOP.findall(text)) == 1, "an experiment file has one section [stop]"
    assert text.index("time_limit") < text.index("[stop]"), "[experiment] has a time limit"
    limited = _LIMIT.sub('time_limit = "3 min"', _WARM_UP.sub("", text))
    limited = limited.replace("[experiment]\n", "[experiment]\nwarmup = 0\n", 1)
    return _STOP.sub("[stop]\nrepetitions = 1\n", limited)


def shorten(folder: Path) -> None:
    """Shorten all experiment files in a folder."""
    for path in folder.glob("*.toml"):
        path.write_text(shortened(path.read_text(encoding="utf-8")), encoding="utf-8")
