"""aferir measured, beside its peers where they are at hand: one file per bench."""

from __future__ import annotations

from types import ModuleType


def by_name() -> dict[str, ModuleType]:
    """Every bench: a module with HELP, PEERS and `run(options, note) -> BenchResult`."""
    from aferir.bench import npb, overhead, resume, startup  # noqa: PLC0415

    return {"npb": npb, "overhead": overhead, "resume": resume, "startup": startup}
