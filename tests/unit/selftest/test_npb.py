"""Selection of cases by the bench of the NPB kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.errors import TimeoutExpired, UsageError
from aferir.model.bench import BenchResult
from aferir.model.finding import Finding
from aferir.programs.npb.ranks import MPI_KERNELS, NpbMpi
from aferir.programs.npb.threads import KERNELS
from aferir.selftest import npb
from aferir.selftest.npb import Case, Measured, Timing
from aferir.selftest.npb_mpi import MpiCase, effort_for, mpi_cases
from aferir.selftest.options import BenchOptions


@pytest.fixture(name="ran")
def _ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, bool]]:
    """Name, rounds and whether the peer ran, of each case; nothing is really run."""
    ran: list[tuple[str, int, bool]] = []

    def measure(case: Case, rounds: int, peer: Path | None) -> Measured:
        ran.append((case.name, rounds, peer is not None))
        return Measured(problem="not run")

    monkeypatch.setattr(npb, "_measure", measure)
    monkeypatch.setattr(npb, "mpi_cases", lambda _options: [])
    return ran


def run(**options: object) -> BenchResult:
    return npb.run(BenchOptions(**options), lambda _what, _share: None)  # type: ignore[arg-type]


def test_all_cases_run_unless_some_are_named(ran: list[tuple[str, int, bool]]) -> None:
    run()
    assert len(ran) == len(KERNELS) * 3 * 3
    assert {"bt.A.4", "sp.S.1", "ep.W.2"} <= {name for name, _, _ in ran}


def test_only_takes_whole_words_of_a_name(ran: list[tuple[str, int, bool]]) -> None:
    run(only=("bt.W", "sp.A.1"))
    assert [name for name, _, _ in ran] == ["bt.W.1", "bt.W.2", "bt.W.4", "sp.A.1"]
    with pytest.raises(UsageError):
        run(only=("b",))


def test_a_quick_bench_leaves_out_what_takes_long(ran: list[tuple[str, int, bool]]) -> None:
    run(quick=True, only=("bt", "cg"))
    assert [name for name, _, _ in ran if name.startswith("bt")] == [
        "bt.S.1", "bt.S.2", "bt.W.1", "bt.W.2",
    ]  # fmt: skip
    assert "cg.A.1" in {name for name, _, _ in ran}


def test_a_kernel_that_the_peer_was_not_built_for_runs_alone(
    ran: list[tuple[str, int, bool]], tmp_path: Path
) -> None:
    (tmp_path / "bt.S").touch()
    run(only=("bt.S.1", "sp.S.1"), peers={"npb-cpp": tmp_path})
    assert [(name, beside) for name, _, beside in ran] == [("bt.S.1", True), ("sp.S.1", False)]


def test_a_folder_with_none_of_the_programs_is_no_peer(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no program `bt\.S`"):
        run(only=("bt.S.1",), peers={"npb-cpp": tmp_path})


def test_a_peer_that_does_not_end_is_given_up_and_ours_is_measured_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "lu.A").touch()
    limits: list[float] = []

    def never_ends(_case: Case, _folder: Path, limit_s: float) -> Timing:
        limits.append(limit_s)
        raise TimeoutExpired("lu.A was ended")

    monkeypatch.setattr(npb, "run_ours", lambda _case: Timing(3.0, 1000.0))
    monkeypatch.setattr(npb, "run_peer", never_ends)
    monkeypatch.setattr(npb, "mpi_cases", lambda _options: [])
    found = {f.name: f for f in run(only=("lu.A.4",), peers={"npb-cpp": tmp_path}).figures}
    assert limits == [90.0]
    assert found["lu.A.4.throughput"].n == 5
    assert found["lu.A.4.throughput"].holds
    assert found["lu.A.4.throughput"].ratio is None
    assert "ended after 90 s, 30 times" in found["lu.A.4.throughput"].note
    assert "geometric_mean_ratio" not in found


def test_the_pairs_before_a_peer_was_given_up_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "lu.A").touch()
    theirs = iter([Timing(6.0, 500.0), Timing(9.0, 250.0)])

    def ends_twice(_case: Case, _folder: Path, _limit_s: float) -> Timing:
        try:
            return next(theirs)
        except StopIteration:
            raise TimeoutExpired("lu.A was ended") from None

    monkeypatch.setattr(npb, "run_ours", lambda _case: Timing(3.0, 1000.0))
    monkeypatch.setattr(npb, "run_peer", ends_twice)
    monkeypatch.setattr(npb, "mpi_cases", lambda _options: [])
    found = {f.name: f for f in run(only=("lu.A.4",), peers={"npb-cpp": tmp_path}).figures}
    assert found["lu.A.4.throughput"].peer_value == 375.0
    assert found["geometric_mean_ratio"].value == pytest.approx(2.828, rel=0.01)


def test_cases_by_message_passing_are_named_after_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    ok = [Finding("npb-mpi", "ok", "installed")]
    monkeypatch.setattr(NpbMpi, "check", lambda _self: ok)
    names = [case.name for case in mpi_cases(BenchOptions(only=("mpi.cg", "ft")))]
    assert names == [f"mpi.cg.{c}.{n}" for c in "SWA" for n in (1, 2, 4)]
    assert len(mpi_cases(BenchOptions(quick=True))) == 2 * len(MPI_KERNELS)
    monkeypatch.setattr(NpbMpi, "check", lambda _self: [])
    assert mpi_cases(BenchOptions()) == []


def test_what_has_no_target_is_run_less() -> None:
    judged, shown = (effort_for(MpiCase("cg", "W", n), quick=False) for n in (2, 4))
    assert judged.least > shown.least
    assert effort_for(MpiCase("cg", "W", 2), quick=True).most < judged.least
