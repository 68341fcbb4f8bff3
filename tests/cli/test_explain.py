"""`aferir explain` as its users see it, and how it copes with what cannot be taken away."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aferir import registry
from aferir.cli import explain, main
from aferir.environments.base import Kind
from aferir.environments.native import Native
from aferir.errors import MissingError
from aferir.linux import process
from aferir.linux.process import Completed
from aferir.model.plan import EnvironmentSpec
from tests.integration.support import usable

FILTER = "awk '/^Seccomp:/ {print $2 + 1}' /proc/self/status"
"""Prints 1 without a filter of system calls and 3 with one."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    return tmp_path


def aferir(folder: Path, *arguments: str) -> Completed:
    return process.run(
        [sys.executable, "-m", "aferir", *arguments], directory=folder, timeout_s=500, check=False
    )


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["podman", "lxc"])
def test_the_cause_of_a_figure_is_found_in_a_real_container(folder: Path, kind: str) -> None:
    usable({"podman": "oci", "lxc": "container"}[kind])
    if process.run(["sh", "-c", FILTER]).stdout.strip() != "1":
        pytest.skip("this host filters system calls itself; run it where nothing does")
    done = aferir(
        folder,
        *("explain", "--in", kind, "--cause", "seccomp filter", "--cause", "network"),
        *("-n", "3", "--warmup", "0", "--figure", "mode(lower)=last", "--json"),
        *("--save", "why.toml", "--script", FILTER),
    )
    assert done.exit_code == 0, done.stderr
    [one] = json.loads(done.stdout)["evaluation"]["explanations"]
    assert one["metric"] == "mode"
    assert one["total"] == pytest.approx(2.0)
    first, second = one["causes"]
    assert (first["name"], first["claimed"]) == ("seccomp filter", True)
    assert first["effect"] == pytest.approx(2.0)
    assert (second["name"], second["claimed"]) == ("network", False)
    assert {kept["name"] for kept in one["kept"]} >= {"overlay", "memory limit"}
    saved = tomllib.loads((folder / "why.toml").read_text(encoding="utf-8"))
    assert saved["explain"]["causes"] == ["seccomp filter", "network"]
    again = aferir(folder, "run", "why.toml", "--check")
    assert again.stdout.strip() == "why.toml is right: 8 cells"
    page = (next((folder / "runs").iterdir()) / "report.html").read_text(encoding="utf-8")
    assert "Where the difference comes from" in page


@pytest.mark.parametrize(
    "arguments",
    [
        ("--in", "native", "--", "true"),
        ("--in", "podmna", "--", "true"),
        ("--in", "podman", "--cause", "gravity", "--", "true"),
        ("--in", "podman", "--within", "much", "--", "true"),
        ("--in", "podman"),
    ],
)
def test_what_cannot_be_explained_starts_nothing(
    folder: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert main(["explain", *arguments]) == 2
    assert not (folder / "runs").exists()


class _Choosy(Native):
    """Refuses to be anything but quota-bound."""

    def allocate(self, spec: EnvironmentSpec) -> Any:
        if spec.cpu_quota is None:
            raise MissingError("a quota\nis needed here", remedy="keep it")
        return _Nothing()


class _Nothing:
    def release(self) -> float:
        return 0.0


def test_a_feature_that_stays_is_kept_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = registry.kinds()
    choosy: Kind = msgspec.structs.replace(kinds["native"], make=lambda _: _Choosy())
    monkeypatch.setattr(registry, "kinds", lambda: kinds | {"native": choosy})
    document: dict[str, Any] = {
        "experiment": {"name": "why", "baseline": "native"},
        "environment": [
            {"name": "native", "kind": "native"},
            {"name": "held", "kind": "native", "cpu_quota": 0.5, "huge_pages": False},
        ],
        "workload": [{"name": "work", "program": "command", "command": "true"}],
        "explain": {"environment": "held"},
    }
    plan = explain._plan(document)
    kept = explain._kept(document, plan)
    assert kept == {"kept": ["CPU quota: a quota is needed here"], "causes": ["small pages"]}
    document["explain"] |= kept
    again = explain._plan(document)
    assert explain._kept(document, again) == {}
    assert again.design is not None
    assert [one.name for one in again.design.varied] == ["small pages"]
