"""Findings about a machine's state that adds noise to results or cannot be observed. Pure."""

from __future__ import annotations

from aferir.machine.facts import MachineFacts
from aferir.model.finding import Finding

UNLIKE_OTHERS = "programs of `native` run, unlike containers and guests, in the control group"
OUT_OF_IT = "start aferir outside of that group, e.g. by systemd-run --scope --slice=-.slice"
_NO_QUOTA = "start the container around aferir without --cpus, or the service without CPUQuota="
_NO_SET = "start the container around aferir without --cpuset-cpus, or aferir without taskset"
_NO_MEMORY_LIMIT = "start the container around aferir without --memory, or with more of it"
_BUSY_PER_CPU = 0.3
"""One-minute load average per CPU above which other programs clearly compete."""


def findings(machine: MachineFacts) -> list[Finding]:
    """Findings about virtualisation, clock, frequency, load, steal, page merging and groups."""
    return [
        _virtualisation(machine),
        _clock(machine),
        _frequency(machine),
        *_others(machine),
        *_memory(machine),
        _cgroups(machine),
        *_own_group(machine),
        *limits(machine),
    ]


def _virtualisation(machine: MachineFacts) -> Finding:
    if machine.virtualisation == "none":
        return Finding("virtualisation", "ok", "bare metal, as far as can be told")
    said = f"this host is itself virtual ({machine.virtualisation}): `native` is not bare metal"
    return Finding("virtualisation", "degraded", said, "run on bare metal to measure against it")


def _clock(machine: MachineFacts) -> Finding:
    fast = machine.clock_source in (
        "tsc",
        "kvm-clock",
        "arch_sys_counter",
        "hyperv_clocksource_tsc_page",
    )
    if fast:
        return Finding("clock", "ok", f"clock source {machine.clock_source}, read in user space")
    said = f"clock source {machine.clock_source or 'unknown'}: each reading is a system call"
    return Finding("clock", "degraded", said, "boot with clocksource=tsc if the TSC is stable")


def _frequency(machine: MachineFacts) -> Finding:
    if not machine.frequency_governor:
        said = "no cpufreq: the frequency of the CPU can neither be read nor fixed"
        return Finding("frequency", "degraded", said, "none here: the hypervisor decides")
    if machine.frequency_governor == "performance":
        return Finding("frequency", "ok", "governor performance")
    said = f"governor {machine.frequency_governor}: the frequency follows the load"
    return Finding("frequency", "degraded", said, "sudo cpupower frequency-set -g performance")


def _others(machine: MachineFacts) -> list[Finding]:
    found = []
    if machine.load[0] > _BUSY_PER_CPU * machine.cpus:
        said = f"the load average is {machine.load[0]:.1f} on {machine.cpus} CPUs"
        found.append(Finding("load", "degraded", said, "end what else runs here, or wait"))
    share = machine.steal_s / max(machine.uptime_s * machine.cpus, 1e-9)
    if share > 0.01:
        said = f"the hypervisor took {share:.1%} of the CPU time since boot"
        found.append(Finding("steal", "degraded", said, "use a host that is not overcommitted"))
    return found


def _memory(machine: MachineFacts) -> list[Finding]:
    if not machine.ksm:
        return []
    said = "the kernel merges equal pages (KSM): guests' memory seems smaller than it is"
    return [Finding("ksm", "degraded", said, "echo 0 | sudo tee /sys/kernel/mm/ksm/run")]


def _cgroups(machine: MachineFacts) -> Finding:
    if machine.cgroups == "none":
        said = "no control groups are mounted: no limits, no containers"
        return Finding("cgroups", "missing", said, "mount -t cgroup2 none /sys/fs/cgroup")
    return Finding("cgroups", "ok", f"control groups {machine.cgroups}")


def _own_group(machine: MachineFacts) -> list[Finding]:
    if not machine.own_group:
        return []
    said = f"{UNLIKE_OTHERS} {machine.own_group}"
    return [Finding("own-group", "degraded", said, OUT_OF_IT)]


def limits(machine: MachineFacts) -> list[Finding]:
    """Findings about limits that control groups around aferir impose on all programs."""
    found = []
    if len(machine.allowed_cpus) < machine.cpus:
        numbers = ", ".join(map(str, machine.allowed_cpus))
        said = f"aferir may use {len(machine.allowed_cpus)} of {machine.cpus} CPUs: {numbers}"
        found.append(Finding("cpu-set", "degraded", said, _NO_SET))
    quota, size = machine.limits.cpus, machine.limits.memory_bytes
    if quota is not None and quota < len(machine.allowed_cpus):
        said = (
            f"a control group around aferir may use {quota:g} CPUs: whatever uses more is "
            "stopped for a part of each tenth of a second"
        )
        found.append(Finding("cpu-limit", "degraded", said, _NO_QUOTA))
    if size is not None and size < machine.memory_bytes:
        said = (
            f"a control group around aferir may use {size // 2**20} MiB of the "
            f"{machine.memory_bytes // 2**20} MiB of memory"
        )
        found.append(Finding("memory-limit", "degraded", said, _NO_MEMORY_LIMIT))
    return found
