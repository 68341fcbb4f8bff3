"""The programs: parameters, commands, and parsers that survive any text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.errors import MissingError, ProgramError, UnverifiedError
from aferir.machine import facts
from aferir.model.parameters import names
from aferir.model.record import Sample
from aferir.programs.base import Program
from aferir.programs.memory import MEMORY, MemoryParameters
from aferir.programs.npb.threads import CLASSES, KERNELS, NPB
from aferir.programs.peak import PEAK
from aferir.registry import all_programs
from tests.unit.programs.taking import command_of, memory_of, wrong_with

EP: dict[str, object] = {
    "program": "npb-ep",
    "class": "A",
    "threads": 2,
    "isa": "v4",
    "iterations": 1,
    "duration_s": 1.5,
    "throughput_mops": 350.25,
    "verified": True,
    "checks": [],
}
STREAM: dict[str, object] = {
    "program": "memory-bandwidth",
    "threads": 2,
    "array_bytes": 2**26,
    "llc_bytes": 2**24,
    "duration_s": 0.7,
    "copy_bps": 1e10,
    "scale_bps": 1.1e10,
    "add_bps": 1.2e10,
    "triad_bps": 1.3e10,
    "verified": True,
}
PEAK_LINE: dict[str, object] = {
    "program": "peak-flops",
    "threads": 2,
    "isa": "v4",
    "duration_s": 0.4,
    "peak_flops": 6e10,
    "median_flops": 5e10,
    "verified": True,
}
CASES: tuple[tuple[Program[Any], dict[str, object], tuple[str, ...]], ...] = (
    (NPB, EP, ("duration_s", "throughput_mops")),
    (PEAK, PEAK_LINE, ("duration_s", "peak_flops")),
    (
        MEMORY,
        STREAM,
        ("duration_s", "copy_bps", "scale_bps", "add_bps", "triad_bps", "array_bytes"),
    ),
)


@pytest.mark.parametrize(("workload", "line", "metrics"), CASES)
def test_reads_the_figures_of_a_verified_run(
    workload: Program[Any], line: dict[str, object], metrics: tuple[str, ...]
) -> None:
    figures = workload.parse(f"a note before\n{json.dumps(line)}\n")
    samples = [figure for figure in figures if isinstance(figure, Sample)]
    samples = [sample for sample in samples if not sample.metric.startswith("modelled_")]
    assert tuple(sample.metric for sample in samples) == metrics
    values = [sample.value for sample in samples]
    assert values == [line[metric] for metric in metrics]


@pytest.mark.parametrize(("workload", "line", "metrics"), CASES)
@pytest.mark.parametrize(
    "bad", [None, "1", True, -1.0, 0, 0.0, float("nan"), float("inf"), [1], {}]
)
def test_refuses_a_figure_that_is_no_positive_number(
    workload: Program[Any], line: dict[str, object], metrics: tuple[str, ...], bad: object
) -> None:
    for metric in metrics:
        with pytest.raises(ProgramError, match=metric):
            workload.parse(json.dumps(line | {metric: bad}))
        with pytest.raises(ProgramError, match=metric):
            workload.parse(json.dumps({k: v for k, v in line.items() if k != metric}))


def test_a_number_beyond_floats_is_refused() -> None:
    line = json.dumps(EP).replace("1.5", "1" + "0" * 400)
    with pytest.raises(ProgramError, match="duration_s"):
        NPB.parse(line)


@pytest.mark.parametrize("verified", [False, None, 1, "true", 0])
def test_an_unverified_run_gives_no_number(verified: object) -> None:
    for workload, line, _ in CASES:
        with pytest.raises(UnverifiedError, match="off by a lot"):
            workload.parse(json.dumps(line | {"verified": verified, "error": "off by a lot"}))
    with pytest.raises(UnverifiedError):
        NPB.parse(json.dumps({k: v for k, v in EP.items() if k != "verified"}))


def test_the_result_of_another_program_is_refused() -> None:
    for line in (json.dumps(STREAM), json.dumps(EP | {"program": 3}), "[1]", "null", "", "{"):
        with pytest.raises(ProgramError):
            NPB.parse(line)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


def _samples_or_program_error(workload: Program[Any], text: str) -> None:
    try:
        samples = workload.parse(text)
    except ProgramError:
        return
    assert any(isinstance(s, Sample) and 0 < s.value < float("inf") for s in samples)


@given(text=st.text() | st.text(alphabet='{}[]",:0123456789.eE+-truefalsn \n'))
def test_any_text_gives_samples_or_a_program_error(text: str) -> None:
    for workload in all_programs().values():
        _samples_or_program_error(workload, text)


@given(changes=st.dictionaries(st.sampled_from(sorted({*EP, *STREAM})), json_values))
def test_any_object_gives_samples_or_a_program_error(changes: dict[str, object]) -> None:
    for workload, line, _ in CASES:
        _samples_or_program_error(workload, json.dumps(line | changes))


@given(cut=st.integers(0, 200))
def test_a_line_that_was_cut_gives_no_number(cut: int) -> None:
    for workload, line, _ in CASES:
        text = json.dumps(line)
        if cut < len(text):
            with pytest.raises(ProgramError):
                workload.parse(text[:cut])


def test_deep_nesting_is_a_program_error() -> None:
    with pytest.raises(ProgramError):
        NPB.parse("[" * 100_000)


parameters = st.dictionaries(
    st.sampled_from(["kernel", "class", "threads", "isa", "array_bytes", "allow_small"]),
    st.booleans() | st.integers() | st.floats() | st.text(max_size=10) | st.sampled_from(KERNELS),
)


@given(given_parameters=parameters)
def test_validation_survives_any_parameters(
    given_parameters: dict[str, bool | int | float | str],
) -> None:
    for workload in all_programs().values():
        sentences = wrong_with(workload, given_parameters)
        for sentence in sentences:
            name, _, rest = sentence.partition(": ")
            assert name in given_parameters or name in names(workload.parameters)
            assert "; " in rest
        assert sentences or memory_of(workload, given_parameters) > 0


def test_validation_names_the_nearest_word() -> None:
    assert "did you mean `S`" in wrong_with(NPB, {"kernel": "ep", "class": "s"})[0]
    assert "did you mean `cg`" in wrong_with(NPB, {"kernel": "CG", "class": "S"})[0]
    assert wrong_with(NPB, {"kernel": "ep", "class": "S", "threads": True})
    assert wrong_with(NPB, {"kernel": "ep", "class": "S", "isa": "v9"})
    assert not wrong_with(NPB, {"kernel": "ep", "class": "S", "threads": 2, "isa": "v3"})
    assert not wrong_with(MEMORY, {"array_bytes": 2**26, "allow_small": True})
    assert wrong_with(MEMORY, {"allow_small": "yes"})


@pytest.mark.parametrize("kernel", KERNELS)
def test_memory_grows_with_the_class(kernel: str) -> None:
    needs = [memory_of(NPB, {"kernel": kernel, "class": letter}) for letter in CLASSES]
    assert needs == sorted(needs)


def test_memory_is_that_of_the_specification() -> None:
    # FT.B: 512 x 256 x 256 points; two complex arrays and one real one are 1.25 GiB.
    assert memory_of(NPB, {"kernel": "ft", "class": "B"}) - 18 * 2**20 == 1280 * 2**20
    assert memory_of(MEMORY, {"array_bytes": 10**8}) > 3 * 10**8


def test_commands_name_program_and_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFERIR_KERNELS", str(tmp_path))
    for name in ("npb-ep", "memory-bandwidth"):
        (tmp_path / name).touch(mode=0o755)
    made = command_of(NPB, {"kernel": "ep", "class": "S", "threads": 2, "isa": "v3"})
    assert made.program == tmp_path / "npb-ep"
    assert made.arguments == ("--class", "S", "--threads", "2", "--isa", "v3")
    assert made.environment == {}
    asleep = command_of(NPB, {"kernel": "ep", "class": "S", "idle_threads": "sleep"})
    assert asleep.arguments == ("--class", "S", "--threads", "1")
    assert asleep.environment == {"OMP_WAIT_POLICY": "passive"}
    assert command_of(MEMORY, {"array_bytes": 2**20}).arguments == (
        "--threads", "1", "--array-bytes", str(2**20),
    )  # fmt: skip
    assert command_of(MEMORY, {"allow_small": True}).arguments[-1] == "--allow-small"
    assert MEMORY.check()[0].status == "ok"
    assert NPB.check()[0].status == "missing"
    (tmp_path / "npb-cg").touch(mode=0o644)
    with pytest.raises(MissingError, match="may not be executed"):
        command_of(NPB, {"kernel": "cg", "class": "S"})


def test_the_memory_of_memory_bandwidth_is_that_of_arrays_four_times_the_caches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = MEMORY.memory_bytes(MemoryParameters(array_bytes=2**20)) - 3 * 2**20
    for told, taken in ((48 * 2**20, 48 * 2**20), (0, 32 * 2**20)):
        monkeypatch.setattr(facts, "last_level_caches_bytes", lambda told=told: told)
        assert MEMORY.memory_bytes(MemoryParameters()) == own + 12 * taken
