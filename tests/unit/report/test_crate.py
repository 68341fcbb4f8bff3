"""An RO-Crate by the rules of its specification 1.1."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from aferir.report.write.crate import METADATA, write_crate
from aferir.store.run import EXPERIMENT, RECORDS
from tests.unit.report.one_run import one_run


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("crate")
    run, evaluation = one_run(folder)
    write_crate(folder / "run.zip", run, evaluation)
    with zipfile.ZipFile(folder / "run.zip") as opened:
        document = json.loads(opened.read(METADATA))
    assert document["@context"] == "https://w3id.org/ro/crate/1.1/context"
    entities = document["@graph"]
    assert len({one["@id"] for one in entities}) == len(entities)
    assert all("@type" in one for one in entities)
    return {one["@id"]: one for one in entities}


def test_the_descriptor_is_about_the_root(graph: dict[str, dict[str, Any]]) -> None:
    descriptor = graph[METADATA]
    assert descriptor["@type"] == "CreativeWork"
    assert descriptor["about"] == {"@id": "./"}
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}


def test_the_root_has_what_every_root_must_have(graph: dict[str, dict[str, Any]]) -> None:
    root = graph["./"]
    assert root["@type"] == "Dataset"
    assert root["name"]
    assert root["description"]
    assert root["datePublished"] == "2026-01-01"


def test_every_reference_is_described(graph: dict[str, dict[str, Any]]) -> None:
    def references(value: object) -> list[str]:
        if isinstance(value, dict):
            return [value["@id"]]
        return (
            [one for part in value for one in references(part)] if isinstance(value, list) else []
        )

    asked = {
        one
        for entity in graph.values()
        for key, value in entity.items()
        if key != "conformsTo"
        for one in references(value)
    }
    assert asked <= graph.keys()
    assert RECORDS in asked


def test_every_file_of_the_archive_is_described_and_is_whole(tmp_path: Path) -> None:
    run, evaluation = one_run(tmp_path)
    write_crate(tmp_path / "run.zip", run, evaluation)
    with zipfile.ZipFile(tmp_path / "run.zip") as opened:
        document = json.loads(opened.read(METADATA))
        described = {
            one["@id"]: int(one["contentSize"])
            for one in document["@graph"]
            if one["@type"] == "File"
        }
        inside = {one.filename: one.file_size for one in opened.infolist()}
        assert opened.read(RECORDS) == (run.folder / RECORDS).read_bytes()
    assert inside.keys() - {METADATA} == described.keys()
    assert all(inside[name] == size for name, size in described.items())
    assert EXPERIMENT in described
