"""Wrong keys and values in [experiment] and [stop]."""

from __future__ import annotations

from tests.unit.config.broken_pieces import BOX, EP, EXPERIMENT, GOOD, LONG, NATIVE, Broken

BROKEN: dict[str, Broken] = {
    "no name": ("[experiment]\n" + NATIVE + EP, "experiment.name", "is missing", "add `name"),
    "name with slash": (
        '[experiment]\nname = "a/b"\n' + NATIVE + EP, "experiment.name", "no name", "letters",
    ),
    "name too long": (
        f'[experiment]\nname = "{LONG}"\n' + NATIVE + EP, "experiment.name", "too long", "1 to 40",
    ),
    "name with control character": (
        '[experiment]\nname = "a\\u0007"\n' + NATIVE + EP,
        "experiment.name", "control", "printable",
    ),
    "name of dots": (
        '[experiment]\nname = ".."\n' + NATIVE + EP,
        "experiment.name", "no name", "letter or digit",
    ),
    "name is a number": (
        "[experiment]\nname = 3\n" + NATIVE + EP, "experiment.name", "not text", "`name =",
    ),
    "title with newline": (
        EXPERIMENT + 'title = "a\\nb"\n' + NATIVE + EP, "experiment.title", "control", "printable",
    ),
    "title is a list": (
        EXPERIMENT + "title = [1]\n" + NATIVE + EP, "experiment.title", "a list", "`title =",
    ),
    "unknown key of experiment": (
        EXPERIMENT + "sed = 1\n" + NATIVE + EP, "experiment.sed", "not a key", "`seed`",
    ),
    "baseline unknown": (
        EXPERIMENT + 'baseline = "nativ"\n' + NATIVE + EP,
        "experiment.baseline", "no env", "`native`",
    ),
    "baseline absent": (EXPERIMENT + BOX + EP, "experiment.baseline", "no environment", "`box`"),
    "seed negative": (
        EXPERIMENT + "seed = -1\n" + NATIVE + EP,
        "experiment.seed", "range", "from 0",
    ),
    "seed true": (
        EXPERIMENT + "seed = true\n" + NATIVE + EP,
        "experiment.seed", "true or", "whole",
    ),
    "order unknown": (
        EXPERIMENT + 'order = "randm"\n' + NATIVE + EP, "experiment.order", "not known", "`random`",
    ),
    "warmup negative": (
        EXPERIMENT + "warmup = -1\n" + NATIVE + EP, "experiment.warmup", "range", "from 0",
    ),
    "warmup fraction": (
        EXPERIMENT + "warmup = 1.5\n" + NATIVE + EP, "experiment.warmup", "a number", "whole",
    ),
    "time limit without unit": (
        EXPERIMENT + "time_limit = 240\n" + NATIVE + EP, "experiment.time_limit", "whole", "unit",
    ),
    "time limit in minuts": (
        EXPERIMENT + 'time_limit = "4 minuts"\n' + NATIVE + EP,
        "experiment.time_limit", "`minuts` is no unit", "90 s",
    ),
    "time limit of nothing": (
        EXPERIMENT + 'time_limit = "0 s"\n' + NATIVE + EP,
        "experiment.time_limit", "out of range", "from 1 s",
    ),
    "time limit negative": (
        EXPERIMENT + 'time_limit = "-4 s"\n' + NATIVE + EP,
        "experiment.time_limit", "not a", "90 s",
    ),
    "time limit too short": (
        EXPERIMENT + 'time_limit = "10 ms"\n' + NATIVE + EP,
        "experiment.time_limit", "range", "1 s",
    ),
    "time limit units the wrong way round": (
        EXPERIMENT + 'time_limit = "3 s 2 min"\n' + NATIVE + EP,
        "experiment.time_limit", "largest to the smallest", "90 s",
    ),
    "oversubscribe as text": (
        EXPERIMENT + 'oversubscribe = "yes"\n' + NATIVE + EP,
        "experiment.oversubscribe", "is text", "`true`",
    ),
    "repetitions zero": (GOOD + "[stop]\nrepetitions = 0\n", "stop.repetitions", "range", "from 1"),
    "repetitions a million": (
        GOOD + "[stop]\nrepetitions = 1000000\n", "stop.repetitions", "range", "to 1000",
    ),
    "repetitions and min": (
        GOOD + "[stop]\nrepetitions = 5\nmin = 2\nmax = 3\ninterval_percent = 1\n",
        "stop.repetitions", "when to stop", "keep either",
    ),
    "min above max": (
        GOOD + "[stop]\nmin = 9\nmax = 3\ninterval_percent = 1.0\n",
        "stop.min", "above `max`", "swap",
    ),
    "max missing": (GOOD + "[stop]\nmin = 9\n", "stop.max", "is missing", "add `max"),
    "min of one": (
        GOOD + "[stop]\nmin = 1\nmax = 3\ninterval_percent = 1.0\n", "stop.min", "range", "from 2",
    ),
    "interval zero": (
        GOOD + "[stop]\nmin = 2\nmax = 3\ninterval_percent = 0.0\n",
        "stop.interval_percent", "range", "above 0",
    ),
    "interval NaN": (
        GOOD + "[stop]\nmin = 2\nmax = 3\ninterval_percent = nan\n",
        "stop.interval_percent", "range", "above 0",
    ),
    "interval infinite": (
        GOOD + "[stop]\nmin = 2\nmax = 3\ninterval_percent = inf\n",
        "stop.interval_percent", "range", "up to 100",
    ),
    "emulated above repetitions": (
        GOOD + "[stop]\nrepetitions = 3\nemulated = 9\n", "stop.emulated", "more than", "to 3",
    ),
}  # fmt: skip
