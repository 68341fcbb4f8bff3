"""Files that are no experiment: no TOML, or without required tables."""

from __future__ import annotations

from tests.unit.config.broken_pieces import EP, EXPERIMENT, GOOD, NATIVE, Broken

BROKEN: dict[str, Broken] = {
    "empty": ("", "experiment", "is missing", "add an [experiment]"),
    "no environment": (EXPERIMENT + EP, "environment", "there is no", "add at least one"),
    "no workload": (EXPERIMENT + NATIVE, "workload", "there is no", "add at least one"),
    "empty environments": (
        "environment = []\n" + EXPERIMENT + EP, "environment", "there is no", "add at least one",
    ),
    "unknown section": (GOOD + "[stopp]\nmin = 3\n", "stopp", "not a section", "`stop`"),
    "stop is a number": ("stop = 3\n" + GOOD, "stop", "whole number", "write [stop]"),
    "no TOML": ("[experiment\n", "line 1, column 12", "is not TOML", "mend"),
    "a key twice": ('[experiment]\nname = "a"\nname = "b"\n', "line 3", "is not TOML", "mend"),
    "a huge number": ("seed = " + "9" * 5000, "is not TOML", "digits", "mend"),
    "nested too deeply": (
        "a = " + "[" * 5000,
        "the experiment file", "nested too deeply", "needs that",
    ),
    "environment is one table": (
        EXPERIMENT + NATIVE.replace("[[environment]]", "[environment]") + EP,
        "environment", "a table", "two brackets",
    ),
}  # fmt: skip
