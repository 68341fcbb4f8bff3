"""An experiment over three hosts: kinds of environment, ranks, a network between two, a load."""

from __future__ import annotations

EXPERIMENT = """
[experiment]
name = "farm"
baseline = "bare"
warmup = 0
[stop]
repetitions = 2
{hosts}
[[environment]]
name = "bare"
kind = "native"
host = "a"
[[environment]]
name = "lxc"
kind = "container"
host = "a"
[[environment]]
name = "podman"
kind = "oci"
host = "b"
[[environment]]
name = "kernel"
kind = "native"
host = "c"
[[environment]]
name = "both"
kind = "native"
host = "a,b"
cpus = 1
[[environment]]
name = "served"
kind = "native"
host = "a,c"
cpus = 1
[[workload]]
name = "ep"
program = "npb"
kernel = "ep"
class = "S"
threads = 1
environments = ["bare", "lxc", "podman", "kernel"]
[[workload]]
name = "ranks"
program = "npb-mpi"
kernel = "ep"
class = "S"
processes = 2
mpi = "openmpi"
environments = ["both"]
[[workload]]
name = "sweep"
program = "net-sweep"
most_bytes = "4 KiB"
trials = 1
trial_ms = 5
environments = ["both"]
[[workload]]
name = "bulk"
program = "iperf3"
transfer_bytes = "4 MiB"
environments = ["both"]
[[workload]]
name = "beside"
program = "colocation"
service = "nginx"
batch = "npb-ep"
threads = 1
rate = 40
load = 1.0
arms = ["default"]
warm_up = "200 ms"
measured = "2 s"
environments = ["served"]
"""
