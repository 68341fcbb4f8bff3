"""The key of an `[[environment]]` table that says which cloud it is."""

from __future__ import annotations

from pathlib import Path

import msgspec

from aferir.clouds.providers import read_wanted
from aferir.config.fields import Fields
from aferir.errors import UsageError
from aferir.model.plan import EnvironmentSpec

KEYS = ("cloud",)
_NOT_THEIRS = ("cpu_quota", "huge_pages", "merge_pages", "tenants")


def read_cloud(fields: Fields, spec: EnvironmentSpec) -> EnvironmentSpec:
    """The same with what the file of its cloud says, so that the plan holds all of it."""
    for key in _NOT_THEIRS if spec.kind == "cloud" else KEYS:
        if key in fields.table:
            fields.wrong(key, f"means nothing for kind {spec.kind}", "remove it")
    path = fields.text("cloud")
    if spec.kind != "cloud" or path is None:
        return spec
    try:
        return msgspec.structs.replace(spec, cloud=read_wanted(Path(path)))
    except UsageError as error:
        fields.wrong("cloud", error.message, error.remedy)
        return spec
