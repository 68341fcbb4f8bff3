"""Maps programs to Debian packages, and composes the commands that install them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence

PACKAGE_OF = {
    "apt-config": "apt",
    "bwrap": "bubblewrap",
    "ch-run": "charliecloud",
    "debugfs": "e2fsprogs",
    "docker": "docker.io",
    "dd": "coreutils",
    "dpkg-deb": "dpkg",
    "e2label": "e2fsprogs",
    "ffmpeg": "ffmpeg",
    "ffprobe": "ffmpeg",
    "grub-mkimage": "grub-common",
    "ip": "iproute2",
    "jar": "default-jdk-headless",
    "java": "default-jre-headless",
    "javac": "default-jdk-headless",
    "linux.uml": "user-mode-linux",
    "lxc-attach": "lxc",
    "lxc-start": "lxc",
    "lxc-stop": "lxc",
    "mcopy": "mtools",
    "mformat": "mtools",
    "mke2fs": "e2fsprogs",
    "mmd": "mtools",
    "sfdisk": "fdisk",
    "mmdebstrap": "mmdebstrap",
    "nginx": "nginx-light",
    "mvn": "maven",
    "perf": "linux-perf",
    "newuidmap": "uidmap",
    "nsenter": "util-linux",
    "qemu-img": "qemu-utils",
    "qemu-system-x86_64": "qemu-system-x86",
    "setpriv": "util-linux",
    "ssh-keygen": "openssh-client",
    "systemd-nspawn": "systemd-container",
    "tar": "tar",
    "tc": "iproute2",
    "unshare": "util-linux",
}
_ELSEWHERE = {"apptainer": "https://apptainer.org/docs/admin/latest/installation.html"}
"""Programs that Debian 12 has no package of, and the page that tells how to install them."""
_KEYRING = "debian-archive-keyring"
"""Package that mmdebstrap needs: without it apt trusts no Debian mirror."""


_INSTALL = re.compile(r"apt-get install((?: --?[a-z-]+)*(?: (?!then\b)[a-z0-9][a-z0-9.+-]*)+)")


def named_in(remedy: str) -> tuple[str, ...]:
    """Packages in the apt commands of a remedy; empty for other remedies."""
    words = [word for found in _INSTALL.findall(remedy) for word in found.split()]
    return tuple(word.rstrip(".") for word in words if not word.startswith("-"))


def search_path() -> str:
    """PATH with the folders of system programs added, which an ordinary user's may lack."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def missing(programs: Sequence[str]) -> list[str]:
    """Programs that are not installed on this machine."""
    return [name for name in programs if shutil.which(name, path=search_path()) is None]


def install_command(programs: Sequence[str]) -> str:
    """Command that installs `programs`; a sentence instead if apt-get or a package is missing.

    Checks for apt-get and dnf, and whether we are root.
    """
    for name in programs:
        if name in _ELSEWHERE:
            return f"Debian 12 has no package of {name}; how to install it: {_ELSEWHERE[name]}"
    wanted = sorted({PACKAGE_OF.get(name, name) for name in programs})
    if "mmdebstrap" in wanted:
        wanted = sorted({*wanted, _KEYRING})
    sudo = "" if os.geteuid() == 0 else "sudo "
    return command(wanted, sudo, has_apt=not missing(["apt-get"]), has_dnf=not missing(["dnf"]))


def command(wanted: Sequence[str], sudo: str, *, has_apt: bool, has_dnf: bool) -> str:
    """Command that installs the Debian packages `wanted`; without apt-get, a sentence with them."""
    names = " ".join(wanted)
    if has_apt:
        return f"{sudo}apt-get install --no-install-recommends -y {names}"
    if has_dnf:
        return (
            f"these are Debian's names for what is needed: {names}; on this dnf-based host find "
            f"each with `{sudo}dnf provides`, or run aferir on Debian or Ubuntu"
        )
    return f"this host has no apt-get; on Debian or Ubuntu: apt-get install {names}"
