"""Decides by a trial boot whether guests run under KVM.

A /dev/kvm that opens, and even creates a VM, is no proof: where the host is itself a guest of a
hypervisor with incomplete nested KVM, every guest hangs at its first instructions.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import msgspec

from aferir.environments.qemu import command_line
from aferir.errors import AferirError
from aferir.image import initramfs
from aferir.image.userland import Image
from aferir.linux import cleaning, journal, process, undo, wait
from aferir.linux.journal import Entry
from aferir.machine import facts, privileges

TRIAL = "trial"
"""Kind of journal entry of a trial guest."""
_CPUCLOCK_SCHED = 2
"""Number of the clock of a process that counts its CPU time (linux/posix-timers_types.h)."""
_CPU_LIMIT_S = 6.0
"""CPU time in s that QEMU may use for the trial; a guest under KVM boots within one second."""
_LIMIT_S = 60.0
"""Time limit of the trial in s, for a guest that hangs and uses no processor.

The verdict holds until the next boot: a guest that is slow because the machine is busy must not be
taken for one that hangs.
"""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the trial, and the host's boot, QEMU and image for which it holds."""

    works: bool
    reason: str
    boot_id: str
    qemu: str
    kernel: str
    """Hash of the image that was booted."""


def verdict(image: Image) -> Verdict:
    """Result of booting a guest with KVM, tried once per boot of the host, QEMU and image.

    It is stored in the cache with the images, since it does not depend on the state folder.
    """
    path = journal.cache_folder() / "kvm" / f"{image.metadata.hash}.json"
    boot_id = journal.boot_id()
    version = facts.tool_version("qemu")
    device = privileges.kvm_device()
    if device != "open":
        return Verdict(
            works=False,
            reason=f"/dev/kvm is {device}",
            boot_id=boot_id,
            qemu=version,
            kernel=image.metadata.hash,
        )
    known = _remembered(path)
    asked = (boot_id, version, image.metadata.hash)
    if known is not None and (known.boot_id, known.qemu, known.kernel) == asked:
        return known
    reason = _trial(image)
    found = Verdict(
        works=not reason,
        reason=reason or "a guest booted with KVM",
        boot_id=boot_id,
        qemu=version,
        kernel=image.metadata.hash,
    )
    journal.write_durably(path, msgspec.json.encode(found))
    return found


def _remembered(path: Path) -> Verdict | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Verdict)
    except (OSError, msgspec.DecodeError):
        return None


def _trial(image: Image) -> str:
    """Boot a guest; returns the reason why that failed, or "" if the guest booted."""
    entry = journal.write(TRIAL, {"folder": str(journal.state_folder() / "vms")})
    folder = journal.state_folder() / "vms" / f"aferir-{entry.id}"
    try:
        folder.mkdir(parents=True)
        command = command_line.trial_command(
            name=folder.name,
            folder=folder,
            kernel=image.kernel,
            archive=image.initramfs,
            accelerator="kvm",
        )
        said = folder / "qemu.log"
        with said.open("w", encoding="utf-8") as log:
            child = process.start(command, stderr=log.fileno(), environment={undo.MARK: entry.id})
        try:
            return _wait(command_line.console(folder), said, child)
        finally:
            process.end(child, grace_s=0.2)
    except AferirError as error:
        return error.message
    finally:
        undo.remove_tree(folder)
        journal.erase(entry)


def give_back(entry: Entry) -> None:
    """Remove a trial guest and its journal entry."""
    cleaning.remove_marked_folder(entry, Path(entry.details["folder"]) / f"aferir-{entry.id}")


def _wait(console: Path, said: Path, child: subprocess.Popen[str]) -> str:
    """Wait until the guest has booted; returns "", or the reason why it did not boot."""

    def decided() -> bool:
        if initramfs.has_booted(console) or child.poll() is not None:
            return True
        return _cpu_time_s(child.pid) > _CPU_LIMIT_S

    wait.until(decided, wait.after(_LIMIT_S))
    if initramfs.has_booted(console):
        return ""
    if child.poll() is not None:
        lines = said.read_text(encoding="utf-8", errors="replace").splitlines() or ["no reason"]
        return f"/dev/kvm opens, and QEMU ends at once with it ({lines[0]})"
    limits = f"{_CPU_LIMIT_S:g} s of CPU time or {_LIMIT_S:g} s"
    return f"/dev/kvm opens, and a guest that uses it hangs (no sign of life in {limits})"


def _cpu_time_s(pid: int) -> float:
    """CPU time in s of all threads of a child that was not waited for (clock_getcpuclockid(3))."""
    return time.clock_gettime(~pid << 3 | _CPUCLOCK_SCHED)
