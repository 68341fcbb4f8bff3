"""The keys of an `[[environment]]` table that are those of a virtual cluster."""

from __future__ import annotations

import re
from typing import get_args

import msgspec

from aferir.config.fields import Fields
from aferir.model.plan import EnvironmentSpec, NodeKind, Placement
from aferir.model.words import shown

MOST_NODES = 250
KEYS = ("nodes", "node_kind", "placement", "suite")
_NOT_THEIRS = ("cpu_quota", "huge_pages", "merge_pages", "disk", "disk_rate")
_NODE_KINDS: tuple[NodeKind, ...] = get_args(NodeKind)
_PLACEMENTS: tuple[Placement, ...] = get_args(Placement)
_SUITE = re.compile(r"[a-z]{1,30}")


def read_cluster(fields: Fields, spec: EnvironmentSpec) -> EnvironmentSpec:
    """The same with what is a cluster's; other kinds may not have its keys, nor it theirs."""
    for key in _NOT_THEIRS if spec.kind == "cluster" else KEYS:
        if key in fields.table:
            fields.wrong(key, f"means nothing for kind {spec.kind}", "remove it")
    if spec.kind != "cluster":
        return spec
    node_kind = fields.choice("node_kind", _NODE_KINDS)
    placement = fields.choice("placement", _PLACEMENTS)
    suite = fields.text("suite") or ""
    if suite and not _SUITE.fullmatch(suite):
        fields.wrong("suite", f"{shown(suite)} is no release", 'write e.g. "trixie"')
    if suite and node_kind == "vm":
        fields.wrong("suite", "guests have the host's release", "remove it, or `node_kind`")
    return msgspec.structs.replace(
        spec,
        nodes=fields.integer("nodes", 1, MOST_NODES) or 2,
        node_kind=next((known for known in _NODE_KINDS if known == node_kind), "container"),
        placement=next((known for known in _PLACEMENTS if known == placement), "spread"),
        suite=suite,
    )
