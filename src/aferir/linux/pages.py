"""Huge pages and merged pages: two ways in which the kernel changes what memory costs an instance.

Merging needs the kernel's own thread to run, a setting of the whole host (admin-guide/mm/ksm.rst of
the kernel's documentation): it is switched on for as long as somebody needs it, and journalled.
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
    """Options of prctl(2) for what runs in the instance, or is it."""
    made = []
    if not spec.huge_pages:
        made.append((_DISABLE_HUGE_PAGES, 1))
    if spec.merge_pages:
        made.append((_MERGE, 1))
    return tuple(made)


def begin(spec: EnvironmentSpec, switch: Path = SWITCH) -> Entry | None:
    """Let the kernel merge pages, if the instance is to have that.

    Errors: MissingError where this kernel cannot, or we may not ask it to.
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
    """Set the switch to what it was, unless another instance still needs it."""
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
