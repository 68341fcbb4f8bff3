"""Generates files that make bare instances nodes of one cluster; pure functions.

They are in one folder that all nodes mount, so that a change reaches all of them at once. Sources:
sshd_config(5), hosts(5), mpirun(1) of Open MPI 4.1 (host files, MCA parameters).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from aferir.cluster.description import Description, address, node_name

FOLDER = "/etc/aferir-cluster"
"""Path of the cluster's folder on the nodes."""
MPI = "openmpi"
"""MPI library whose launcher starts programs on all nodes."""
USER = "user"
USER_ID = 1000
HOME = f"/home/{USER}"
PROGRAMS = PurePosixPath("/opt/aferir")
"""Folder with the programs of experiments, the same on all nodes: a link to a folder below /home.
"""
READY = "run/aferir-ready"
"""File below a node's root that exists once the node is ready."""

SSHD_LISTENS = "/run/sshd.pid"
"""File that sshd writes once it listens; the command that starts it returns before that."""

INIT = f"""#!/bin/sh
# Makes an instance a node of its cluster: run by the first program of a guest, and itself the
# first program of a container.
here={FOLDER}
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root
rm -f /run/*.pid /{READY}
if [ $$ -eq 1 ]; then ip link set lo up; fi
mkdir -p -m 755 /run/sshd /home /etc/ssh /etc/openmpi
if ! grep -q '^{USER}:' /etc/passwd; then
  echo '{USER}:x:{USER_ID}:{USER_ID}::{HOME}:/bin/bash' >> /etc/passwd
  echo '{USER}:x:{USER_ID}:' >> /etc/group
  echo '{USER}:*:19000:0:99999:7:::' >> /etc/shadow
fi
ln -sf $here/hosts /etc/hosts
ln -sf $here/known_hosts /etc/ssh/ssh_known_hosts
ln -sf $here/mpi.conf /etc/openmpi/openmpi-mca-params.conf
ln -sf $here/hostfile /etc/openmpi/openmpi-default-hostfile
ln -sf $here/hostfile /etc/openmpi/prte-default-hostfile
ln -sf $here/prte.conf /etc/openmpi/prte-mca-params.conf
mkdir -p {PROGRAMS.parent}
ln -sfn /home/{PROGRAMS.name} {PROGRAMS}
mkdir -p -m 700 ~/.ssh
cp $here/id_ed25519 ~/.ssh/
/usr/sbin/sshd -f $here/sshd_config
until [ -s {SSHD_LISTENS} ]; do sleep 0.01; done
if [ -x $here/more ]; then $here/more; fi
: > /{READY}
if [ $$ -ne 1 ]; then exit 0; fi
while :; do sleep 2147483647 & wait; done
"""

PRTE = """prte_if_include = eth0
plm_ssh_args = -o ConnectTimeout=5 -o ServerAliveInterval=5
rmaps_default_mapping_policy = slot:oversubscribe
hwloc_default_binding_policy = none
"""
"""Parameters of the launcher of Open MPI 5 (PRRTE 3), which does not read those of Open MPI 4."""

SSHD = f"""HostKey {FOLDER}/host_key
PidFile {SSHD_LISTENS}
AuthorizedKeysFile {FOLDER}/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
UseDNS no
MaxStartups 200
KexAlgorithms curve25519-sha256
"""
"""Settings of sshd(8). In an emulated guest, OpenSSH's default key exchange, safe from quantum
computers, takes 2 s, and curve25519 0.3 s; the latter suffices, as nobody can listen on a network
within one host.
"""


def hosts(description: Description) -> str:
    """Names and addresses of the nodes, as text of /etc/hosts."""
    numbers = range(description.nodes)
    lines = [f"{address(number)} {node_name(number)}" for number in numbers]
    return "\n".join(["127.0.0.1 localhost", *lines, ""])


def hostfile(description: Description) -> str:
    """Open MPI's host file, with as many slots on each node as it has CPUs."""
    slots = description.cpus
    return "".join(f"{node_name(n)} slots={slots}\n" for n in range(description.nodes))


def mpi(cpus: int, host_cpus: int) -> str:
    """Parameters for Open MPI: TCP between nodes, over the cluster's own network only.

    If all nodes on a host have more `cpus` than the host, waiting ranks are told to yield, as no
    rank would make progress otherwise. Else Open MPI decides, by a node's slots. Told not to yield,
    four ranks of lattice Boltzmann on a node of two CPUs were 7 times as slow as natively. A daemon
    takes a node for dead after 11 s on a connection without data on their way (tcp(7));
    `running.run` sees its death before.
    """
    lines = [
        "pml = ob1",
        "btl = self,vader,tcp",
        "btl_tcp_if_include = eth0",
        "oob_tcp_if_include = eth0",
        "oob_tcp_keepalive_time = 5",
        "oob_tcp_keepalive_intvl = 2",
        "oob_tcp_keepalive_probes = 3",
        # A node that has just died does not answer, and its replacement soon has its address.
        "plm_rsh_args = -o ConnectTimeout=5 -o ServerAliveInterval=5",
        "hwloc_base_binding_policy = none",
        "rmaps_base_oversubscribe = 1",
    ]
    if cpus > host_cpus:
        lines.append("mpi_yield_when_idle = 1")
    return "".join(f"{line}\n" for line in lines)


def known_hosts(public_key: str) -> str:
    """Text of known_hosts: all nodes have the same host key."""
    kind, key = public_key.split()[:2]
    return f"* {kind} {key}\n"


def user_command(command: Sequence[str], *, root: bool) -> list[str]:
    """Wrap a command that a node runs as the user, in the shared home, or as root.

    The command starts in the home folder, as `cd` without arguments goes there.
    """
    inside = ["sh", "-c", 'cd && exec "$@"', "sh", *command]
    if root:
        allowed = ["OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"]
        return ["env", "HOME=/root", *allowed, *inside]
    who = [f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups"]
    return ["setpriv", *who, "env", f"HOME={HOME}", f"USER={USER}", *inside]
