"""Broken experiment files: each is refused with the place, the reason and a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.config import load, parse, read_bytes
from aferir.errors import UsageError
from aferir.registry import all_programs, kinds
from tests.unit.config import test_errors_environments as environments
from tests.unit.config.broken_files import (
    BOX,
    EP,
    EXPERIMENT,
    GOOD,
    GUEST,
    HOST,
    LONG,
    NATIVE,
    check_refused,
    refusal,
)

# name: (content, the path that must be named, the reason, the remedy)
BROKEN: dict[str, tuple[str, str, str, str]] = {
    "empty": ("", "experiment", "is missing", "add an [experiment]"),
    "no environment": (EXPERIMENT + EP, "environment", "there is no", "add at least one"),
    "no workload": (EXPERIMENT + NATIVE, "workload", "there is no", "add at least one"),
    "empty environments": (
        "environment = []\n" + EXPERIMENT + EP, "environment", "there is no", "add at least one",
    ),
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
    "environment with brackets": (
        EXPERIMENT + NATIVE + BOX.replace('"box"', '"box[1]"') + EP,
        "environment[2].name", "no name", "letters",
    ),
    "title with newline": (
        EXPERIMENT + 'title = "a\\nb"\n' + NATIVE + EP, "experiment.title", "control", "printable",
    ),
    "title is a list": (
        EXPERIMENT + "title = [1]\n" + NATIVE + EP, "experiment.title", "a list", "`title =",
    ),
    "unknown section": (GOOD + "[stopp]\nmin = 3\n", "stopp", "not a section", "`stop`"),
    "unknown key of experiment": (
        EXPERIMENT + "sed = 1\n" + NATIVE + EP, "experiment.sed", "not a key", "`seed`",
    ),
    "unknown key of environment": (
        EXPERIMENT + NATIVE + "cpu = 1\n" + EP, "environment[1].cpu", "not a key", "`cpus`",
    ),
    "unknown key of workload": (
        GOOD + "thread = 1\n",
        "workload[1].thread", "not a key", "threads",
    ),
    "key with control character": (GOOD + '"a\\u0000" = 1\n', "workload[1]", "not a key", "choose"),
    "parameter of another program": (
        GOOD + 'array_bytes = "1 MiB"\n', "workload[1].array_bytes", "not a key", "choose one of",
    ),
    "unknown kind": (
        EXPERIMENT + NATIVE.replace('kind = "native"', 'kind = "nativ"') + EP,
        "environment[1].kind", "not known", "did you mean `native`",
    ),
    "kind missing": (
        EXPERIMENT + '[[environment]]\nname = "native"\n' + EP,
        "environment[1].kind", "is missing", "add `kind",
    ),
    "kind is a number": (
        EXPERIMENT + '[[environment]]\nname = "native"\nkind = 1\n' + EP,
        "environment[1].kind", "not known", "choose one of",
    ),
    "unknown program": (
        GOOD.replace('"npb"', '"npbb"'), "workload[1].program", "not known", "`npb`",
    ),
    "program missing": (
        EXPERIMENT + NATIVE + '[[workload]]\nname = "ep"\n',
        "workload[1].program", "is missing", "npb",
    ),
    "unknown kernel": (
        GOOD.replace('kernel = "ep"', 'kernel = "epp"'), "workload[1].kernel", "not known", "`ep`",
    ),
    "kernel missing": (
        GOOD.replace('kernel = "ep"\n', ""), "workload[1].kernel", "is missing", "choose one of",
    ),
    "lower-case class": (
        GOOD.replace('class = "S"', 'class = "s"'), "workload[1].class", "not known", "`S`",
    ),
    "class too large to know": (
        GOOD.replace('class = "S"', 'class = "F"'), "workload[1].class", "not known", "choose one",
    ),
    "threads zero": (GOOD + "threads = 0\n", "workload[1].threads", "out of range", "from 1"),
    "threads negative": (GOOD + "threads = -2\n", "workload[1].threads", "out of range", "from 1"),
    "threads true": (GOOD + "threads = true\n", "workload[1].threads", "true or false", "whole"),
    "threads as text": (GOOD + 'threads = "2"\n', "workload[1].threads", "is text", "whole"),
    "threads beyond 64 bits": (
        GOOD + f"threads = {2**70}\n", "workload[1].threads", "cannot be a parameter", "finite",
    ),
    "threads a list": (GOOD + "threads = [1]\n", "workload[1].threads", "cannot be", "write text"),
    "threads a date": (
        GOOD + "threads = 2024-01-01\n",
        "workload[1].threads", "cannot be", "write",
    ),
    "threads NaN": (GOOD + "threads = nan\n", "workload[1].threads", "cannot be", "finite"),
    "threads above cpus": (GOOD + "threads = 3\n", "workload[1]", "3 threads", "oversubscribe"),
    "threads above the environment's cpus": (
        EXPERIMENT + NATIVE + BOX + "cpus = 1\n" + EP + "threads = 2\n",
        "workload[1]", "2 threads in `box`", "lower `threads`",
    ),
    "array size without unit": (
        EXPERIMENT + NATIVE + '[[workload]]\nname = "m"\nprogram = "memory-bandwidth"\n'
        'array_bytes = "big"\n',
        "workload[1].array_bytes", "not a size", "a number and a unit",
    ),
    "workload called allocation": (
        GOOD.replace('name = "ep"', 'name = "allocation"'),
        "workload[1].name", "recorded", "rename",
    ),
    "duplicate environment": (
        EXPERIMENT + NATIVE + BOX + BOX + EP,
        "environment[3].name", "environment[2]", "another name",
    ),
    "duplicate workload": (GOOD + EP, "workload[2].name", "workload[1]", "another name"),
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
    "workload slower than the experiment": (
        EXPERIMENT + 'time_limit = "1 min"\n' + NATIVE + EP + 'time_limit = "2 min"\n',
        "workload[1].time_limit", "longer than the whole", "shorten",
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
    "stop is a number": ("stop = 3\n" + GOOD, "stop", "whole number", "write [stop]"),
    "workload in an unknown environment": (
        GOOD + 'environments = ["nativ"]\n',
        "workload[1].environments", "no environment", "`native`",
    ),
    "workload in no environment": (
        GOOD + "environments = []\n", "workload[1].environments", "empty", "remove the key",
    ),
    "workload twice in an environment": (
        GOOD + 'environments = ["native", "native"]\n',
        "workload[1].environments", "twice", "each once",
    ),
    "factor without levels": (
        GOOD + "[factors]\nthreads = []\n",
        "factors.threads", "without", "write",
    ),
    "factor is no list": (
        GOOD + "[factors]\nthreads = 2\n",
        "factors.threads", "whole number", "write",
    ),
    "factor twice the same level": (
        GOOD + "[factors]\nthreads = [1, 1]\n", "factors.threads", "twice", "once",
    ),
    "factor of mixed types": (
        GOOD + '[factors]\nthreads = [1, "b"]\n', "factors.threads", "different types", "one type",
    ),
    "factor with NaN": (
        GOOD + "[factors]\nthreads = [nan]\n",
        "factors.threads[1]", "no level", "finite",
    ),
    "factor level with slash": (
        GOOD.replace('kernel = "ep"\n', "") + '[factors]\nkernel = ["a/b"]\n',
        "factors.kernel[1]", "no level", "write text",
    ),
    "factor that nothing knows": (
        GOOD + "[factors]\nthrads = [1]\n",
        "factors.thrads", "not a key", "threads",
    ),
    "factor that no workload knows": (
        GOOD + "[factors]\narray_bytes = [1048576]\n",
        "factors.array_bytes", "no workload", "choose",
    ),
    "factor that a workload sets": (
        GOOD + "threads = 1\n[factors]\nthreads = [1, 2]\n",
        "factors.threads", "workload[1]", "remove",
    ),
    "factor level that the program refuses": (
        GOOD + "[factors]\nthreads = [1, 0]\n", "factors.threads", "out of range", "from 1",
    ),
    "factor level above the CPUs": (
        GOOD + "[factors]\nthreads = [1, 4]\n", "workload[1]", "4 threads", "oversubscribe",
    ),
    "factor of environments above the host": (
        GOOD + '[factors]\n"environment.cpus" = [1, 8]\n',
        "factors.environment.cpus[2]", "has 2", "1 to 2",
    ),
    "factor of environments above the pins": (
        EXPERIMENT + NATIVE + "pin = [0]\n" + EP + '[factors]\n"environment.cpus" = [1, 2]\n',
        "environment[1].pin", "names 1 CPUs for `cpus = 2`", "at least as many",
    ),
    "factor of pinning without pins": (
        GOOD + '[factors]\n"environment.pinned" = [true, false]\n',
        "environment.pinned", "no CPUs", "pin = [0]",
    ),
    "factor of memory without unit": (
        GOOD + '[factors]\n"environment.memory" = [5]\n',
        "factors.environment.memory[1]", "whole", "1 GiB",
    ),
    "factor of an unknown field": (
        GOOD + '[factors]\n"environment.cpu" = [1]\n',
        "factors.environment.cpu", "not a key", "environment.cpus",
    ),
    "nested factor table": (
        GOOD + "[factors.environment]\ncpus = []\n",
        "factors.environment.cpus", "without", "[1, 2]",
    ),
    "too many levels": (
        GOOD + f"[factors]\nthreads = {list(range(1, 66))}\n", "factors.threads", "65 levels", "64",
    ),
    "too many cells": (
        EXPERIMENT + "oversubscribe = true\n" + NATIVE + "".join(
            EP.replace('"ep"', f'"ep{k}"', 1) for k in range(17)
        ) + f"[factors]\nthreads = {list(range(1, 65))}\n",
        "factors", "1088 cells", "at most 1000",
    ),
    "no TOML": ("[experiment\n", "line 1, column 12", "is not TOML", "mend"),
    "a key twice": ('[experiment]\nname = "a"\nname = "b"\n', "line 3", "is not TOML", "mend"),
    "a huge number": ("seed = " + "9" * 5000, "is not TOML", "digits", "mend"),
    "nested too deeply": (
        "a = " + "[" * 5000,
        "the experiment file", "nested too deeply", "needs that",
    ),
}  # fmt: skip


def test_the_file_that_the_others_are_made_from_is_fine() -> None:
    assert len(parse(GOOD.encode(), HOST, all_programs(), kinds()).cells) == 1


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_with_place_reason_and_remedy(name: str) -> None:
    check_refused(*BROKEN[name])


def test_all_problems_are_named_at_once_a_line_each() -> None:
    content = (
        '[experiment]\nname = "a/b"\nsed = 1\n' + NATIVE + "cpus = 9\n" + BOX
        + 'memory = "1 GX"\n' + EP + "threads = 0\n[stop]\nrepetitions = 0\n"
    )  # fmt: skip
    lines = refusal(content).message.splitlines()
    assert lines[0].endswith("has 6 problems:")
    places = [line.split(":")[0].strip() for line in lines[1:]]
    assert sorted(places) == [
        "environment[1].cpus",
        "environment[2].memory",
        "experiment.name",
        "experiment.sed",
        "stop.repetitions",
        "workload[1].threads",
    ]


def test_one_mistake_gives_one_problem() -> None:
    """What follows from a mistake is not reported as another one."""
    broken = BROKEN | environments.BROKEN
    for name in ("unknown kind", "unknown kernel", "quota zero", "unknown program", "pin twice"):
        assert "has 1 problem:" in refusal(broken[name][0]).message, name


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        load(tmp_path / "absent.toml", HOST, all_programs(), kinds())
    with pytest.raises(UsageError, match="is a folder"):
        load(tmp_path, HOST, all_programs(), kinds())
    with pytest.raises(UsageError, match=r"there is no file|cannot be read"):
        load(tmp_path / ("x" * 5000), HOST, all_programs(), kinds())
    with pytest.raises(UsageError, match="cannot be read"):
        load(Path("a\0b"), HOST, all_programs(), kinds())
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"[experiment]\nname = '\xff\xfe'\n")
    with pytest.raises(UsageError, match="not UTF-8 text: byte 21"):
        load(binary, HOST, all_programs(), kinds())
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(UsageError, match="larger than"):
        read_bytes(large)


REFUSED_BEFORE = {
    "a service level": (
        'program = "colocation"\nsla = "p95=banana"', "workload[1].sla", "p95=100ms",
    ),
    "a policy": ('program = "colocation"\narms = "typo"', "workload[1].arms", "`aferir`"),
    "a batch program": ('program = "colocation"\nbatch = "xs"', "workload[1].batch", "`xz`"),
    "an address": (
        'program = "elastic-movie"\nfront = "no address"', "workload[1].front", "10.0.0.1",
    ),
    "everybody's address": (
        'program = "elastic-movie"\nfront = "::"', "workload[1].front", "10.0.0.1",
    ),
    "a scheduler": (
        'program = "elastic-movie"\ndask = "10.0.0.2"', "workload[1].dask", "tcp://10.0.0.2:8786",
    ),
    "a source of power": (
        'program = "elastic-capacity"\npower = "nonsense:1"', "workload[1].power", "nut:UPS",
    ),
    "a port": (
        'program = "elastic-capacity"\npower = "nut:ups@h:port"', "workload[1].power", "HOST:PORT",
    ),
    "a link that works again before it is cut": (
        'program = "aggregation"\nmethod = "mptcp"\nrestore_at = 1',
        "workload[1].restore_at", "cut_at",
    ),
    "links cut for longer than is sent": (
        'program = "aggregation"\nmethod = "mptcp"\ncut_each = true\ncut_at = 1\nrestore_at = 2',
        "workload[1].cut_each", "seconds",
    ),
    "a stream that is too slow": (
        'program = "elastic-movie"\nsent_mbit = 1.0', "workload[1].sent_mbit", "bitrate_mbit",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED_BEFORE)
def test_what_a_child_process_would_stumble_over_is_refused_before_it_starts(name: str) -> None:
    lines, place, remedy = REFUSED_BEFORE[name]
    content = EXPERIMENT + NATIVE + f'[[workload]]\nname = "w"\n{lines}\n'
    check_refused(content, place, " ", remedy)


def test_colocation_is_refused_where_it_cannot_run() -> None:
    content = EXPERIMENT + GUEST + '[[workload]]\nname = "w"\nprogram = "colocation"\n'
    content = content.replace('name = "e"', 'name = "e"\nbaseline = "guest"')
    check_refused(content, "workload[1].environments", "is a vm", "native")


@pytest.mark.parametrize(
    "lines",
    ['program = "npb-mpi"\nkernel = "is"\nclass = "S"\nprocesses = 2', 'program = "net-sweep"'],
)
def test_a_test_network_is_made_by_the_host_alone(lines: str) -> None:
    more = '\ntransport = "mpi"' if "sweep" in lines else ""
    workload = f'[[workload]]\nname = "w"\n{lines}{more}\n'
    content = EXPERIMENT + NATIVE + BOX + workload
    assert parse(content.encode(), HOST, all_programs(), kinds()).cells
    check_refused(
        content + 'method = "multi-rail"\n',
        "workload[1].environments", "`box` is a container", "name those of kind native",
    )  # fmt: skip
