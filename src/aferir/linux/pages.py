"""Huge pages and merged pages: two ways in which the kernel changes the cost of memory.

A kernel thread merges pages, which is switched on for the whole host (admin-guide/mm/ksm.rst): it
runs while an instance needs it, and the change is journalled.
"""

from __future__ import annotations

from pathlib import Path

from aferir.errors import MissingError
from aferir.linux import journal
from aferir.linux.journal import Entry
from aferir.model.plan import EnvironmentSpec

KIND = "page-merging"
SWITCH = Path("/sys/kernel/mm/ksm/run")
# <linux/prctl.h>; children inherit both, over execve(2) too (prctl(2)).
_DISABLE_HUGE_PAGES = 41
_MERGE = 67


def controls(spec: EnvironmentSpec) -> tuple[tuple[int, int], ...]:
    """Options of prctl(2), with values, that set huge pages and page merging for an instance."""
    made = []
    if not spec.huge_pages:
        made.append((_DISABLE_HUGE_PAGES, 1))
    if spec.merge_pages:
        made.append((_MERGE, 1))
    return tuple(made)


def begin(spec: EnvironmentSpec, switch: Path = SWITCH) -> Entry | None:
    """Enable page merging, if the instance requests it.

    Errors: MissingError if this kernel cannot merge pages, or we may not enable it.
    """
    if not spec.merge_pages:
        return None
    try:
        now = switch.read_text(encoding="ascii").strip()
    except OSError:
        raise MissingError(
            f"environment `{spec.name}` merges pages, and this kernel does not",
            remedy="remove `merge_pages`, or take a kernel with CONFIG_KSM",
        ) from None
    others = _others(switch)
    entry = journal.write(
        KIND, {"switch": str(switch), "before": others[0].details["before"] if others else now}
    )
    try:
        switch.write_text("1", encoding="ascii")
    except OSError as error:
        journal.erase(entry)
        raise MissingError(
            f"page merging cannot be switched on: {error.strerror}", remedy="run as root"
        ) from None
    return entry


def give_back(entry: Entry) -> None:
    """Restore the host's setting, unless another instance still needs merging."""
    journal.erase(entry)
    switch = Path(entry.details["switch"])
    if not _others(switch) and entry.boot_id == journal.boot_id():
        switch.write_text(entry.details["before"], encoding="ascii")


def _others(switch: Path) -> list[Entry]:
    return [
        entry
        for entry in journal.entries()
        if entry.kind == KIND and entry.details["switch"] == str(switch)
    ]
