"""Rate of the time-stamp counter, which an emulated guest on the board `microvm` has to be told.

That board has none of the timers by which Linux calibrates the counter (PIT with its gate, HPET,
ACPI PM timer), and Linux then waits in its boot for ticks that never come (`calibrate_APIC_clock`
in arch/x86/kernel/apic/apic.c). KVM tells its guests the rate itself. An emulated guest reads the
host's counter, so the host's rate is the guest's.
"""

from __future__ import annotations

from aferir.environments.qemu.command_line import Accelerator
from aferir.environments.qemu.hardware import Hardware
from aferir.errors import MissingError


def parameters(hardware: Hardware, accelerator: Accelerator) -> tuple[str, ...]:
    """Kernel parameters with the rate, none where the guest finds it out.

    `tsc_early_khz` is the rate in kHz, and `tsc=reliable` makes the counter the guest's clock
    (kernel-parameters.txt). Errors: MissingError where the host keeps no time by its own.
    """
    if hardware.machine != "microvm" or accelerator != "tcg":
        return ()
    from aferir.clock import rvec  # noqa: PLC0415 - calibrates the counter, for 20 ms

    counter = rvec.info()
    if counter.invariance != "trusted":
        raise MissingError(
            "guests on the board `microvm` are emulated here, and have no clock without a"
            " time-stamp counter that this host keeps time by",
            remedy='machine = "q35"',
        )
    return (f"tsc_early_khz={round(counter.frequency_hz / 1000)}", "tsc=reliable")
