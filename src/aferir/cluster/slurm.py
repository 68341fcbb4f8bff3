"""Generates Slurm's configuration for a cluster, and the script that starts its daemons; pure.

Sources: slurm.conf(5) of Slurm 22.05, munged(8).
"""

from __future__ import annotations

from aferir.cluster import accounting
from aferir.cluster.configuration import FOLDER
from aferir.cluster.description import FRONT, Description, address, node_name

PACKAGES = ("munge", "slurmctld", "slurmd", "slurm-client", "python3")
"""Debian packages that Slurm needs on a node; Python runs aferir's agents in its jobs."""
NEEDED = {
    "usr/sbin/munged": "munge",
    "usr/sbin/slurmctld": "slurmctld",
    "usr/sbin/slurmd": "slurmd",
}
"""A file of each package, by which a userland that others made is checked."""

_CONTROLLER = "timeout 120 sh -c 'until [ -e /run/slurmctld.pid ]; do sleep 0.05; done'"
"""Command that waits for the controller, which comes late if a database has to be made before."""

START = f"""#!/bin/sh
# Starts Slurm on a node, once it is on the network.
here={FOLDER}
left=200
until ip -4 address show dev eth0 2> /dev/null | grep -q inet || [ $left -eq 0 ]; do
  left=$((left-1)); sleep 0.05
done
install -d -o munge -g munge -m 700 /etc/munge /var/lib/munge /var/log/munge
install -d -o munge -g munge -m 755 /run/munge
install -o munge -g munge -m 400 $here/munge.key /etc/munge/munge.key
rm -f /run/munge/*
setpriv --reuid munge --regid munge --clear-groups /usr/sbin/munged
state=/var/spool/slurmctld
mkdir -p /etc/slurm $state /var/spool/slurmd /var/log/slurm
rm -f /etc/slurm/slurm.conf
echo "Include $here/slurm.conf" > /etc/slurm/slurm.conf
# Slurm has a plugin for PMIx, which loads it by the name that it has in libpmix-dev alone.
pmix=$(echo /usr/lib/*/pmix2/lib/libpmix.so.2)
if [ -e "$pmix" ] && [ -e "$(echo /usr/lib/*/slurm-wlm/mpi_pmix.so)" ]; then
  ln -sf libpmix.so.2 "${{pmix%.2}}"
  echo MpiDefault=pmix >> /etc/slurm/slurm.conf
fi
echo CgroupPlugin=cgroup/v1 > /etc/slurm/cgroup.conf
if [ "$(hostname)" = {FRONT} ]; then
  # A disk that was saved under another name has the state of the cluster of that name.
  name=$(sed -n 's/^ClusterName=//p' $here/slurm.conf)
  grep -qsE "^$name([|]|$)" $state/clustername || rm -f $state/clustername
  log=/var/log/slurm/start.log
  {{ if [ -x $here/accounting ]; then $here/accounting; fi; slurmctld; }} > $log 2>&1 &
  {_CONTROLLER}
fi
/usr/sbin/slurmd -N "$(hostname)"
"""

CHANGED = f"""{_CONTROLLER}
kill "$(cat /run/slurmctld.pid)"
timeout 60 sh -c 'while [ -e /run/slurmctld.pid ]; do sleep 0.05; done'
slurmctld
timeout 60 sh -c 'until scontrol reconfigure; do sleep 0.2; done'
"""
"""Script for the front end after nodes were added or removed: only a restarted controller knows
them. Running jobs continue."""


def configuration(description: Description) -> str:
    """Text of slurm.conf, the same for all nodes, with CPUs and memory as described.

    The nodes' detected hardware is ignored, as it is the host's. Plugins for control groups are
    off, as containers may not create any.
    """
    memory = description.memory_bytes // 2**20
    lines = [
        f"ClusterName={description.name}",
        f"SlurmctldHost={FRONT}({address(0)})",
        "SlurmUser=root",
        "AuthType=auth/munge",
        "CredType=cred/munge",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        *(accounting.SETTINGS if description.accounting else ()),
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_CPU",
        "SlurmdParameters=config_overrides",
        "ReturnToService=2",
        "SlurmdTimeout=15",
        "TreeWidth=65533",
        "StateSaveLocation=/var/spool/slurmctld",
        "SlurmdSpoolDir=/var/spool/slurmd",
        "SlurmctldPidFile=/run/slurmctld.pid",
        "SlurmdPidFile=/run/slurmd.pid",
        "SlurmctldLogFile=/var/log/slurm/slurmctld.log",
        "SlurmdLogFile=/var/log/slurm/slurmd.log",
        *(
            f"NodeName={node_name(number)} NodeAddr={address(number)} "
            f"CPUs={description.cpus} RealMemory={memory} State=UNKNOWN"
            for number in range(description.nodes)
        ),
        "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
    ]
    return "".join(f"{line}\n" for line in lines)
