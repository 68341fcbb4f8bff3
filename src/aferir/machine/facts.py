"""Facts about this machine, for the provenance of every result."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from pathlib import Path

import msgspec

import aferir
from aferir.errors import AferirError
from aferir.linux import process
from aferir.machine import own_group, packages, parse, tools
from aferir.machine.own_group import Limits
from aferir.model.plan import HostLimits

_TOOLS = {
    "qemu": ("qemu-system-x86_64", "--version"),
    "lxc": ("lxc-start", "--version"),
    "mmdebstrap": ("mmdebstrap", "--version"),
}
_LIBRARIES = ("duckdb", "msgspec", "numpy", "scipy")
_CPU = Path("/sys/devices/system/cpu")


class MachineFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A machine as it was when a run was made.

    Text is empty if the kernel does not report it.
    """

    cpu_model: str
    cpus: int
    """Number of online CPUs."""
    allowed_cpus: tuple[int, ...]
    """Numbers of the CPUs that this process may use."""
    threads_per_core: int
    caches: tuple[parse.Cache, ...]
    memory_bytes: int
    swap_bytes: int
    kernel: str
    kernel_command_line: str
    distribution: str
    architecture: str
    virtualisation: str
    """`none`, or the hypervisor as named by systemd-detect-virt(1)."""
    clock_source: str
    frequency_governor: str
    """Frequency governor; empty: no cpufreq, so the frequency cannot be read."""
    turbo: str
    mitigations: dict[str, str]
    cgroups: str
    """Version of control groups: `v1`, `v2`, `hybrid` or `none`."""
    own_group: str
    """Control group that limits this process, and how it does so; empty: there is none."""
    limits: Limits = Limits()
    """Limits of control groups around us, e.g. those of a container."""
    transparent_huge_pages: str
    ksm: bool
    """True if the kernel merges equal pages, which hides memory that guests use."""
    load: tuple[float, float, float]
    steal_s: float
    """CPU time in s that the hypervisor withheld since boot (steal), over all CPUs."""
    uptime_s: float
    boot_id: str
    host_name: str


class Software(msgspec.Struct, frozen=True, kw_only=True):
    """Software that measured: versions, command line, revision, start time."""

    aferir: str
    python: str
    libraries: dict[str, str]
    tools: dict[str, str]
    command_line: tuple[str, ...]
    git_revision: str
    """Revision of the source tree from which aferir runs; empty for an installed one."""
    project_revision: str = ""
    """Revision of the git work tree in which aferir was started, with `-dirty` if a file of it
    was changed; empty outside of one. `aferir history` names it as the commit of a run.
    """
    started_unix_ns: int


def collect() -> MachineFacts:
    """Facts about this machine; missing files never cause an error."""
    cpu = parse.processor(_read("/proc/cpuinfo"))
    meminfo = _read("/proc/meminfo")
    online = parse.cpu_list(_read(_CPU / "online"))
    first = _CPU / f"cpu{min(online, default=0)}"  # an offline CPU has neither topology nor caches
    return MachineFacts(
        cpu_model=cpu.model,
        cpus=len(online) or os.cpu_count() or 1,
        allowed_cpus=tuple(sorted(os.sched_getaffinity(0))),
        threads_per_core=len(parse.cpu_list(_read(first / "topology/thread_siblings_list"))) or 1,
        caches=_caches(first),
        memory_bytes=parse.meminfo_bytes(meminfo),
        swap_bytes=parse.meminfo_bytes(meminfo, "SwapTotal"),
        kernel=f"{platform.release()} {platform.version()}",
        kernel_command_line=_read("/proc/cmdline"),
        distribution=os_release().get("PRETTY_NAME", ""),
        architecture=platform.machine(),
        virtualisation=_virtualisation(hypervisor=cpu.hypervisor),
        clock_source=_read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        frequency_governor=_read(first / "cpufreq/scaling_governor"),
        turbo=_turbo(),
        mitigations={
            path.name: _read(path) for path in sorted((_CPU / "vulnerabilities").glob("*"))
        },
        cgroups=_cgroups(),
        own_group=own_group.held_back(*_groups(), _read),
        limits=own_group.limits(*_groups(), _read),
        transparent_huge_pages=parse.chosen(_read("/sys/kernel/mm/transparent_hugepage/enabled")),
        ksm=_read("/sys/kernel/mm/ksm/run") == "1",
        load=parse.load(_read("/proc/loadavg")),
        steal_s=parse.steal_s(_read("/proc/stat"), os.sysconf("SC_CLK_TCK")),
        uptime_s=float((_read("/proc/uptime").split() or ["0"])[0]),
        boot_id=_read("/proc/sys/kernel/random/boot_id"),
        host_name=platform.node(),
    )


def host_limits() -> HostLimits:
    """Resources of the machine that this process may use."""
    around = own_group.limits(*_groups(), _read)
    return HostLimits(
        cpus=tuple(sorted(os.sched_getaffinity(0))),
        memory_bytes=usable_memory_bytes(),
        cpu_quota=around.cpus,
    )


def software(*, installed: bool = True) -> Software:
    """Software of this process.

    Without `installed` the process is an agent, which brought its libraries and modules in a folder
    of its own: neither packages that the host has installed nor source trees are looked up.
    """
    return Software(
        aferir=aferir.__version__,
        python=platform.python_version(),
        libraries={name: _version_of(name) for name in _LIBRARIES}
        if installed
        else {"msgspec": msgspec.__version__},
        tools={name: tool_version(name) for name in _TOOLS},
        command_line=tuple(sys.argv),
        git_revision=git_revision(Path(__file__).resolve().parent) if installed else "",
        project_revision=git_revision(Path()) if installed else "",
        started_unix_ns=time.time_ns(),
    )


def tool_version(name: str) -> str:
    """First line of a tool's `--version`; empty if it is not installed: see `machine.tools`."""
    return tools.version(_TOOLS[name])


def os_release() -> dict[str, str]:
    """Values of this host's os-release(5)."""
    return parse.key_values(_read("/etc/os-release") or _read("/usr/lib/os-release"))


def usable_memory_bytes() -> int:
    """Memory in bytes of this machine, or the limit of a control group around us."""
    total = parse.meminfo_bytes(_read("/proc/meminfo"))
    limit = own_group.limits(*_groups(), _read).memory_bytes
    return total if limit is None else min(total, limit)


def _groups() -> tuple[str, str]:
    return _read("/proc/self/cgroup"), _read("/proc/self/mountinfo")


def _read(path: str | Path) -> str:
    """Content of a text file without final newlines; empty if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip("\n")
    except OSError:
        return ""


def last_level_caches_bytes() -> int:
    """Total size of all last-level caches in bytes, shared ones counted once; 0: not reported."""
    found: dict[tuple[int, str], int] = {}
    for folder in _CPU.glob("cpu[0-9]*/cache/index*"):
        if _read(folder / "type") != "Instruction":
            key = int(_read(folder / "level") or 0), _read(folder / "shared_cpu_map")
            found[key] = parse.size_bytes(_read(folder / "size"))
    last = max((level for level, _ in found), default=0)
    return sum(size for (level, _), size in found.items() if level == last)


def _caches(cpu: Path) -> tuple[parse.Cache, ...]:
    return parse.unique_caches(
        parse.Cache(
            int(_read(folder / "level") or 0),
            _read(folder / "type"),
            parse.size_bytes(_read(folder / "size")),
            len(parse.cpu_list(_read(folder / "shared_cpu_list"))),
        )
        for folder in (cpu / "cache").glob("index*")
    )


def _virtualisation(*, hypervisor: bool) -> str:
    identity = Path("/sys/class/dmi/id")
    dmi = " ".join(_read(identity / name) for name in ("sys_vendor", "product_name", "bios_vendor"))
    clocks = _read("/sys/devices/system/clocksource/clocksource0/available_clocksource")
    return parse.virtualisation(
        dmi,
        hypervisor=hypervisor,
        container=_container(),
        kvm_clock="kvm-clock" in clocks,
    )


def _container() -> str:
    """Container manager, by the environment of process 1 or by Docker's files; else empty."""
    for pair in _read("/proc/1/environ").split("\0"):
        if pair.startswith("container="):
            return pair.partition("=")[2]
    # The file alone proves nothing: a machine whose disk was made from an image has it too.
    overlay = any(
        line.split(" ")[1:3] == ["/", "overlay"] for line in _read("/proc/self/mounts").splitlines()
    )
    return "docker" if overlay and Path("/.dockerenv").exists() else ""


def _turbo() -> str:
    if value := _read(_CPU / "intel_pstate/no_turbo"):
        return "off" if value == "1" else "on"
    if value := _read(_CPU / "cpufreq/boost"):
        return "on" if value == "1" else "off"
    return ""


def _cgroups() -> str:
    kinds = {line.split(" ")[2] for line in _read("/proc/self/mounts").splitlines() if " " in line}
    both = {"cgroup", "cgroup2"} & kinds
    return (
        "hybrid" if len(both) == 2 else {"cgroup": "v1", "cgroup2": "v2"}.get("".join(both), "none")
    )


def _version_of(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def git_revision(folder: Path) -> str:
    """Full hash of the commit that is checked out around a folder.

    It ends in `-dirty` if a file was changed; it is empty if git finds no work tree, or if
    the folder was removed.
    """
    try:
        around = (folder, *folder.resolve().parents)
    except OSError:
        return ""
    if not any((above / ".git").exists() for above in around):
        return ""
    if shutil.which("git", path=packages.search_path()) is None:
        return ""
    try:
        done = process.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            directory=folder,
            timeout_s=60,
            check=False,
        )
    except AferirError:
        return ""
    return done.stdout.strip() if done.exit_code == 0 else ""
