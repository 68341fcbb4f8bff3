"""An MPI program over a test network, with a group of ranks per host: script and output.

Hosts are namespaces, or LXC containers that have joined those. Open MPI starts its daemons by an
agent that enters a host as ssh would. `script` and `read` are pure.
"""

from __future__ import annotations

import shlex
from pathlib import PurePosixPath
from typing import Literal

import msgspec

from aferir.aggregation import wiring
from aferir.aggregation.subnets import Command
from aferir.aggregation.traffic import links_grown, remove, show, split
from aferir.errors import ProgramError
from aferir.model.network import Method, Mptcp, Multipath, MultiRail, Network, Tuning

RanksIn = Literal["hosts", "containers"]
RANKS_IN: tuple[RanksIn, ...] = ("hosts", "containers")
_INSIDE = {"hosts": "", "containers": "c1"}
_ENTER = """#!/bin/sh
# enter HOST COMMAND: as ssh does
host=$1; shift
{{ export -p; printf '%s\\n' "$*"; }} > {folder}/$host.$$  # LXC keeps no variables
exec nsenter --net=/run/netns/{prefix}${{host}}{inside} unshare --mount --uts sh -c "
hostname $host && mount --bind {folder}/hosts /etc/hosts && exec {run} sh {folder}/$host.$$"
"""
"""Agent that enters a host. ip-netns(8) is not used because it mounts another /sys, in which LXC
finds no control groups."""
_CONTAIN = "lxc-execute -P {folder} -n {name}-$host -f {folder}/$host.conf --"
"""Command of a container without a root file system of its own: it has the host's files, and the
network in which it is started. Processes, mounts, IPC and control groups are its own."""
_CONTAINER = """lxc.uts.name = {host}
lxc.net.0.type = none
lxc.mount.auto = proc:rw
lxc.autodev = 0
lxc.tty.max = 0
lxc.console.path = none
lxc.cgroup.dir.container = {name}-{host}
lxc.cgroup.dir.monitor = {name}-{host}-monitor
"""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A program of Open MPI, and the network of its ranks."""

    network: Network
    method: Method
    program: tuple[str, ...]
    ranks: int
    ranks_in: RanksIn = "hosts"
    tuning: Tuning = Tuning()
    folder: str = ""
    """Working folder of all ranks; if empty, the folder of the job's own files."""


class Ran(msgspec.Struct, frozen=True):
    """Output of a job, and the bytes that each link of host1 sent and received during the job."""

    stdout: str
    link_bytes: dict[str, int]


def script(job: Job, prefix: str, folder: PurePosixPath, name: str) -> str:
    """Shell script: create the network, run the job, remove it; stops at the first failure.

    `name` precedes the names of containers and of their control groups.
    """
    network = _laid(job)
    host1 = f"{prefix}host1"
    lines = [
        "set -e",
        f"cd {shlex.quote(str(folder))}",
        f"trap {shlex.quote(remove(prefix))} EXIT",
        *(shlex.join(c) for c in wiring.make(network, job.method, job.tuning, prefix)),
        *(shlex.join(c) for c in _interfaces(job, prefix)),
        *_files(job, prefix, folder, name),
        f"sleep {wiring.settle_s(job.method)}",
        *show("links-before", f"ip netns exec {host1} cat /proc/net/dev"),
        f"./enter host1 {shlex.quote(shlex.join(mpirun(job, folder)))} > printed",
        *show("links-after", f"ip netns exec {host1} cat /proc/net/dev"),
        *show("printed", "cat printed"),
    ]
    return "\n".join(lines) + "\n"


def read(printed: str, job: Job) -> Ran:
    """Parse a script's output. Errors: ProgramError if the program printed nothing."""
    parts = split(printed)
    said = "".join(parts.get("printed", []))
    if not said.strip():
        raise ProgramError(f"`{job.program[0]}` printed nothing over a test network")
    sent, received = links_grown(parts, job.network)
    return Ran(said.rstrip("\n") + "\n", {name: sent[name] + received[name] for name in sent})


def mpirun(job: Job, folder: PurePosixPath) -> list[str]:
    """Command that starts the job on host1.

    Ranks of one host communicate through memory, as usual. They yield while they wait, since they
    may outnumber the CPUs here. Multi-rail passes all subnets to Open MPI. Over routes, each pair
    of ranks has one connection, which stays on one link: btl_tcp_links, which would create several,
    makes Open MPI 4.1.4 hang.
    """
    each = -(-job.ranks // job.network.hosts)
    names = wiring.hosts(job.network)
    rails = job.network.links if isinstance(job.method, MultiRail) else 1
    first = wiring.address(job.method, 0).removesuffix(".0")
    subnets = [f"{first}.0/24", *(f"10.0.{link}.0/24" for link in range(1, rails))]
    chosen = {
        "plm_rsh_agent": f"{folder}/enter",
        "pml": "ob1",
        "btl": "tcp,self,vader",
        "btl_tcp_if_include": ",".join(subnets),
        "oob_tcp_if_include": "10.0.0.0/24",
        "mpi_yield_when_idle": "1",
        "orte_tmpdir_base": str(folder),
    }
    return [
        *(("mptcpize", "run") if isinstance(job.method, Mptcp) else ()),
        *("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"),
        *(word for key, value in chosen.items() for word in ("--mca", key, value)),
        *("--host", ",".join(f"{host}:{each}" for host in names), "-n", str(job.ranks)),
        *(("--wdir", job.folder) if job.folder else ()),
        *job.program,
    ]


def _laid(job: Job) -> Network:
    """The job's network; containers are attached to bridges of their hosts."""
    contained = int(job.ranks_in == "containers")
    return msgspec.structs.replace(job.network, containers=contained)


def _interfaces(job: Job, prefix: str) -> list[Command]:
    """Create interfaces for the addresses of routes, as Open MPI ignores addresses on loopback.

    veth pairs are used because the kernel is told to ignore routes without a carrier, which a
    bridge without ports lacks.
    """
    made: list[Command] = []
    if not isinstance(job.method, Multipath):
        return made
    contained = int(job.ranks_in == "containers")
    for number, host in enumerate(wiring.hosts(job.network), 1):
        namespace = f"{prefix}{host}{_INSIDE[job.ranks_in]}"
        inside = ("ip", "-n", namespace)
        made.append((*inside, "link", "add", "own", "type", "veth", "peer", "name", "other"))
        made += [(*inside, "link", "set", name, "up") for name in ("own", "other")]
        own = f"{wiring.address(job.method, number, contained)}/32"
        made.append((*inside, "address", "add", own, "dev", "own"))
    return made


def _files(job: Job, prefix: str, folder: PurePosixPath, name: str) -> list[str]:
    """Commands that write the agent, the hosts file and LXC's configurations."""
    contained = job.ranks_in == "containers"
    run = _CONTAIN.format(folder=folder, name=name) if contained else ""
    inside = _INSIDE[job.ranks_in]
    enter = _ENTER.format(folder=folder, prefix=prefix, inside=inside, run=run)
    hosts = "".join(
        f"{wiring.address(job.method, number, int(contained))} {host}\n"
        for number, host in enumerate(wiring.hosts(job.network), 1)
    )
    files = {"enter": enter, "hosts": f"127.0.0.1 localhost\n{hosts}"}
    if contained:
        for host in wiring.hosts(job.network):
            files[f"{host}.conf"] = _CONTAINER.format(host=host, name=name)
    return [
        *(f"printf %s {shlex.quote(text)} > {file}" for file, text in files.items()),
        "chmod +x enter",
    ]
