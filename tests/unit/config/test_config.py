"""Valid experiment files, units, and that no content crashes the parser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aferir.config import load, parse, plan_of
from aferir.errors import UsageError
from aferir.model.parameters import names
from aferir.model.plan import HostLimits, Plan, environment_family
from aferir.model.units import (
    SIZE_UNITS,
    format_duration,
    format_size,
    parse_duration,
    parse_size,
)
from aferir.registry import all_programs, kinds
from tests.checkout import ROOT

HOST = HostLimits(cpus=(0, 1), memory_bytes=4 * 2**30)
PAGE = ROOT / "docs" / "reference" / "experiment-file.md"
SMALL = """
[experiment]
name = "e"
[[environment]]
name = "native"
kind = "native"
[[environment]]
name = "box"
kind = "container"
[[workload]]
name = "ep"
program = "npb"
kernel = "ep"
class = "S"
"""


def plan(text: str) -> Plan:
    return parse(text.encode(), HOST, all_programs(), kinds())


def test_the_example_of_the_reference_page_loads(tmp_path: Path) -> None:
    example = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "example.toml"
    path.write_text(example[0], encoding="utf-8")
    made = load(path, HOST, all_programs(), kinds())
    assert len(made.cells) == 16
    assert made.time_limit_s == 600
    assert (made.stop.minimum, made.stop.maximum, made.stop.interval_percent) == (5, 20, 2.0)
    ids = [cell.id for cell in made.cells]
    assert len(set(ids)) == 16
    assert "container/ep/threads=2" in ids
    assert "vm/memory/threads=1" not in ids


def test_the_reference_page_or_one_that_it_names_describes_every_key() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([\w./-]+\.md)\)", text):
        text += (PAGE.parent / link).read_text(encoding="utf-8")
    every = [name for workload in all_programs().values() for name in names(workload.parameters)]
    every += list(all_programs())
    for word in (*every, "oversubscribe", "cpu_quota", "interval_percent", "merge_pages"):
        option = f"`--{word.replace('_', '-')}"
        assert f"`{word}`" in text or f'`"{word}"`' in text or option in text, word


def test_defaults() -> None:
    made = plan(SMALL)
    assert (made.baseline, made.seed, made.order, made.warmup) == ("native", 1, "interleaved", 1)
    assert (made.stop.minimum, made.stop.maximum, made.stop.emulated) == (10, 10, 3)
    native, box = made.environments
    assert (native.cpus, native.memory_bytes) == (2, HOST.memory_bytes)
    assert (box.cpus, box.memory_bytes) == (2, 2**30)
    assert made.cells[1].id == "box/ep"
    assert made.cells[1].workload.time_limit_s == 120


def test_an_explicit_zero_is_kept() -> None:
    made = plan(SMALL.replace('name = "e"\n', 'name = "e"\nseed = 0\nwarmup = 0\n'))
    assert (made.seed, made.warmup) == (0, 0)


def test_emulated_is_never_more_than_the_repetitions() -> None:
    assert plan(SMALL + "[stop]\nrepetitions = 2\n").stop.emulated == 2


def test_pinned_cpus_give_the_number_of_cpus() -> None:
    assert plan(SMALL.replace('"container"', '"container"\npin = [1]')).environments[1].cpus == 1


@pytest.mark.parametrize("written", ["", "cpus = 2\n", "pin = [0, 1]\n"])
def test_more_cpus_than_a_kind_has_are_refused(written: str) -> None:
    one_processor = SMALL.replace('kind = "container"\n', f'kind = "uml"\n{written}')
    with pytest.raises(UsageError, match=r"environment\[2\].cpus: asks for \d CPUs, and kind uml"):
        plan(one_processor)


def test_a_parameter_factor_varies_the_workloads_that_know_it() -> None:
    memory = '[[workload]]\nname = "m"\nprogram = "memory-bandwidth"\n'
    made = plan(SMALL + memory + '[factors]\narray_bytes = ["1 MiB", "4 MiB"]\n')
    groups = list(dict.fromkeys(cell.group for cell in made.cells))
    assert groups == ["ep", "m/array_bytes=1MiB", "m/array_bytes=4MiB"]
    assert made.cells[-1].workload.parameters == {"array_bytes": 4 * 2**20}
    assert made.cells[-1].factors == {"array_bytes": 4 * 2**20}


@pytest.mark.parametrize("written", ['"environment.cpus"', "environment.cpus"])
def test_an_environment_factor_makes_variants_compared_level_by_level(written: str) -> None:
    made = plan(SMALL + f"[factors]\n{written} = [1, 2]\n")
    assert [spec.name for spec in made.environments] == [
        "native[cpus=1]",
        "box[cpus=1]",
        "native[cpus=2]",
        "box[cpus=2]",
    ]
    for group in ("ep/environment.cpus=1", "ep/environment.cpus=2"):
        families = [environment_family(c.environment) for c in made.cells if c.group == group]
        assert families == ["native", "box"]
    assert [spec.cpus for spec in made.environments] == [1, 1, 2, 2]


def test_pinning_is_a_factor_of_environments_that_name_their_cpus() -> None:
    pinned = SMALL.replace('kind = "native"', 'kind = "native"\npin = [0, 1]').replace(
        'kind = "container"', 'kind = "container"\npin = [1, 0]'
    )
    made = plan(pinned + "[factors]\nenvironment.pinned = [true, false]\n")
    assert [(spec.name, spec.pin) for spec in made.environments] == [
        ("native[pinned=true]", (0, 1)),
        ("box[pinned=true]", (1, 0)),
        ("native[pinned=false]", ()),
        ("box[pinned=false]", ()),
    ]


def test_a_quota_limits_the_baseline_too() -> None:
    made = plan(SMALL + "[factors]\nenvironment.cpu_quota = [0.5, 1]\n")
    assert [spec.name for spec in made.environments] == [
        "native[cpu_quota=0.5]",
        "box[cpu_quota=0.5]",
        "native[cpu_quota=1.0]",
        "box[cpu_quota=1.0]",
    ]
    assert [spec.cpu_quota for spec in made.environments] == [0.5, 0.5, 1.0, 1.0]


def test_factors_are_combined() -> None:
    text = SMALL + "[factors]\nthreads = [1, 2]\nenvironment.memory = ['512 MiB', '1 GB']\n"
    made = plan(text)
    assert len(made.cells) == 8
    assert made.cells[-1].id == "box[memory=1GB]/ep/threads=2/environment.memory=1GB"


def test_oversubscription_has_to_be_asked_for() -> None:
    text = SMALL + "threads = 8\n"
    with pytest.raises(UsageError, match="oversubscribe = true"):
        plan(text)
    assert plan(text.replace('name = "e"', 'name = "e"\noversubscribe = true')).cells


@given(st.integers(1, 2**60))
def test_sizes_round_trip(size: int) -> None:
    assert parse_size(format_size(size)) == size


@given(st.integers(0, 10**12), st.sampled_from([1000, 1_000_000]))
def test_durations_round_trip(number: int, per_s: int) -> None:
    seconds = number / per_s
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [("1 GB", 10**9), ("1 GiB", 2**30), ("1.5KiB", 1536), (" 7 B ", 7), ("1kB", 1000)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("4 min", 240), ("90 s", 90), ("1h30min", 5400), ("1 h 30 min 1.5 s", 5401.5), ("20ms", 0.02)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@given(st.text() | st.text(alphabet="0123456789.e+- hminskMGTiB٣"))
def test_any_text_is_a_quantity_or_a_value_error(text: str) -> None:
    for read in (parse_size, parse_duration):
        try:
            assert read(text) >= 0
        except ValueError:
            continue


SIZES = st.sampled_from(["1 GiB", "64 MiB", "1 GX", "0 B", "-1 MB", "1e9"]) | st.builds(
    "{} {}".format, st.integers(0, 10**6), st.sampled_from(sorted(SIZE_UNITS))
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 12)
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | SIZES
    | st.sampled_from(["native", "container", "vm", "npb", "ep", "S", "memory-bandwidth", "90 s"])
    | st.dates()
)
values = scalars | st.lists(scalars, max_size=4) | st.dictionaries(st.text(max_size=6), scalars)


def table(*keys: str) -> st.SearchStrategy[dict[str, object]]:
    return st.dictionaries(st.sampled_from(keys) | st.text(max_size=6), values, max_size=8)


documents = st.dictionaries(
    st.sampled_from(["experiment", "stop", "environment", "workload", "factors"])
    | st.text(max_size=6),
    values
    | table("name", "title", "baseline", "seed", "order", "warmup", "time_limit", "oversubscribe")
    | table("repetitions", "min", "max", "interval_percent", "emulated")
    | table("threads", "class", "environment.cpus", "environment.memory", "environment")
    | st.lists(
        table("name", "kind", "cpus", "memory", "pin", "cpu_quota")
        | table("name", "program", "kernel", "class", "threads", "array_bytes", "environments"),
        max_size=4,
    ),
)


@settings(max_examples=150)
@given(documents)
def test_any_document_is_a_plan_or_a_usage_error(document: dict[str, object]) -> None:
    try:
        made = plan_of(document, HOST, all_programs(), kinds())
    except UsageError as caught:
        error = caught
    else:
        assert made.cells
        return
    assert error.remedy
    assert all(line.isprintable() for line in error.message.split("\n"))


fine: dict[str, st.SearchStrategy[object]] = {
    "environment": st.fixed_dictionaries(
        {"name": st.just("native"), "kind": st.sampled_from(["native", "container", "vm"])},
        optional={"cpus": values, "memory": values, "pin": values, "cpu_quota": values},
    ),
    "workload": st.fixed_dictionaries(
        {"name": st.just("w"), "program": st.just("npb"), "kernel": st.just("ep")},
        optional={"class": values, "threads": values, "time_limit": values, "environments": values},
    ),
}


@settings(max_examples=150)
@given(
    environment=fine["environment"],
    workload=fine["workload"],
    stop=table("repetitions", "min", "max", "interval_percent", "emulated") | st.just({}),
    factors=table("threads", "class", "isa", "environment.cpus", "environment.memory"),
)
def test_nearly_right_documents_too(
    environment: object, workload: object, stop: object, factors: object
) -> None:
    document = {
        "experiment": {"name": "e"},
        "stop": stop,
        "environment": [environment],
        "workload": [workload],
        "factors": factors,
    }
    try:
        made = plan_of(document, HOST, all_programs(), kinds())
    except UsageError:
        return
    assert len({cell.id for cell in made.cells}) == len(made.cells) > 0


@given(st.binary(max_size=400))
def test_any_bytes_are_a_plan_or_a_usage_error(content: bytes) -> None:
    with pytest.raises(UsageError):
        parse(content, HOST, all_programs(), kinds())


@given(st.integers(0, len(SMALL) - 1), st.binary(max_size=3))
def test_a_damaged_file_is_a_plan_or_a_usage_error(place: int, junk: bytes) -> None:
    content = SMALL.encode()
    try:
        assert parse(
            content[:place] + junk + content[place + 1 :], HOST, all_programs(), kinds()
        ).cells
    except UsageError:
        return


def test_a_clusters_processes_may_be_as_many_as_all_its_nodes_have_cpus() -> None:
    made = plan(
        SMALL.replace('kind = "container"', 'kind = "cluster"\nmemory = "256 MiB"')
        .replace('program = "npb"', 'program = "npb-mpi"\nprocesses = 4\nenvironments = ["box"]')
        .replace('name = "e"', 'name = "e"\nbaseline = "box"')
        + '[factors]\n"environment.nodes" = [4, 8]\n'
    )
    assert [(spec.name, spec.machines(), spec.cpus) for spec in made.environments] == [
        ("box[nodes=4]", 4, 1),
        ("box[nodes=8]", 8, 1),
    ]
