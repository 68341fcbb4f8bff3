"""Instances of a stock image on simulated hosts: Debian packages, and nothing of a Node.

Each is given a folder, its seed, that says who it is and what it is to do: a container in its root,
a guest on a second disk, as by clouds without a metadata service. Its first program runs cloud-init
or Ignition, then reaps. There is no systemd, so that the difference between two contexts is that of
these programs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from aferir.clouds.base import Template
from aferir.clouds.context import UNIT, USER_DATA, Content
from aferir.image import initramfs
from aferir.model.cloud import Context

PACKAGES = ("cloud-init", "ifupdown", "ignition", "openssh-server")
"""Packages of a stock image beyond those of each userland, NGINX among them."""
SEED = "/run/seed"
"""Folder of an instance's seed."""
SEED_LIMIT_S = 1800.0
"""Seconds within which a service must answer that user data set up: cloud-init took up to 478 s in
an emulated guest beside a load of 28.
"""
IGNITION = "/usr/lib/dracut/modules.d/30ignition/ignition"
"""Where Debian's package has the program."""
_PREFIX = 16

_FIRST = """#!/bin/sh
# First program of an instance of a stock image: it learns what it is to do from its seed.
{begin}
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root
ip link set lo up
(
{stages}) > /dev/console 2>&1
while :; do sleep 2147483647 & wait; done
"""
# The interface is the last that a container is given.
_CONTAINER = f""": > /{initramfs.CONTAINER_MARK}
while ! [ -e /sys/class/net/eth0 ]; do sleep 0.01; done"""
_GUEST = f"""mkdir -p /dev/shm /dev/pts {SEED}
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t devpts pts /dev/pts
for m in /{initramfs.NETWORK_FOLDER}/*failover.ko /{initramfs.NETWORK_FOLDER}/*-virtio_net.ko; do
  insmod "$m"
done
while ! [ -b /dev/vdb ]; do sleep 0.01; done
mount -t ext4 -o ro /dev/vdb {SEED}"""
# The order is that of upstream's scripts for System V (cloud-init, sysvinit/debian).
_CLOUD_INIT = f"""mkdir -p /var/lib/cloud/seed
ln -s {SEED} /var/lib/cloud/seed/nocloud
cloud-init init --local
ifup -a
cloud-init init
cloud-init modules --mode config
cloud-init modules --mode final
"""
# What dracut does before Ignition, Ignition's stages, and what systemd does with the unit.
_BY_IGNITION = f"""sh {SEED}/network
for stage in fetch-offline fetch files; do
  IGNITION_CONFIG_FILE={SEED}/config.ign {IGNITION} --platform file --stage $stage --root / \\
    --log-to-stdout
done
eval "$(sed -n 's/^ExecStart=//p' /etc/systemd/system/{UNIT})"
"""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What distinguishes an instance from others of its image."""

    name: str
    address: str
    hardware: str
    """MAC address of its interface."""


class Way(msgspec.Struct, frozen=True):
    """One way in which an instance is told what to do."""

    stages: str
    """Shell commands of its first program."""
    seed: Callable[[str, Identity], dict[str, str]]
    """Files of the seed for user data and an identity."""


def nocloud(user_data: str, identity: Identity) -> dict[str, str]:
    """Seed of cloud-init's data source NoCloud; network in version 2 of its format."""
    about = {"instance-id": identity.name, "local-hostname": identity.name}
    card = {
        "match": {"macaddress": identity.hardware},
        "addresses": [f"{identity.address}/{_PREFIX}"],
    }
    network = {"version": 2, "ethernets": {"eth0": card}}
    documents = {"meta-data": about, "network-config": network}
    written = {name: msgspec.json.encode(one).decode() for name, one in documents.items()}
    return {"user-data": user_data, **written}


def file_platform(user_data: str, identity: Identity) -> dict[str, str]:
    """Seed for Ignition's platform `file`, and the network, which Ignition does not set up."""
    network = (
        f"ip address add {identity.address}/{_PREFIX} dev eth0\n"
        "ip link set eth0 addrgenmode none up\n"
    )
    return {"config.ign": user_data, "network": network}


WAYS: Mapping[Context, Way] = {
    "cloud-init": Way(_CLOUD_INIT, nocloud),
    "ignition": Way(_BY_IGNITION, file_platform),
}


def template(context: Context, content: Content, probe: str, folder: Path) -> Template:
    """Template of instances that user data make a Node of; `folder` gets their first programs."""
    files = {}
    for name, begin in {"aferir-container": _CONTAINER, "aferir-guest": _GUEST}.items():
        path = folder / name
        path.write_text(_FIRST.format(begin=begin, stages=WAYS[context].stages), encoding="ascii")
        path.chmod(0o755)
        files[f"/usr/sbin/{name}"] = path  # /sbin is a link, which debugfs would write into
    return Template(
        files=files,
        packages=PACKAGES,
        context=context,
        user_data=USER_DATA[context](content),
        start="",
        probe=probe,
    )


def bare() -> Template:
    """Template of instances that are told nothing: they serve as soon as ssh answers."""
    return Template(
        packages=PACKAGES,
        context="none",
        start="mkdir -p /run/sshd && /usr/sbin/sshd",
        probe="",
        port=22,
    )
