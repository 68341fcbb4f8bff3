"""The folders that all nodes of a cluster share, and the cluster's keys."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from aferir.cluster import accounting, configuration, netboot, slurm
from aferir.cluster.description import Description, Node
from aferir.environments import rooted
from aferir.linux import journal, process, undo
from aferir.machine import packages
from aferir.model.finding import Finding

_PROGRAMS = ("ssh-keygen", "nsenter", "ip")
_ID = configuration.USER_ID
_KEYS = ("host_key", "id_ed25519")


def check() -> list[Finding]:
    """Findings on what this machine lacks to create the shared folders."""
    if absent := packages.missing(_PROGRAMS):
        said = f"a cluster cannot be made without {', '.join(absent)}"
        return [Finding("cluster", "missing", said, packages.install_command(absent))]
    return []


def make(
    folder: Path, description: Description, host_cpus: Sequence[int], nodes: int | None = None
) -> None:
    """Create everything that nodes share: the cluster's own keys, a home, the configuration.

    `nodes` is the number of nodes on this host; None: all.
    """
    config = folder / "config"
    config.mkdir()
    for name in _KEYS:
        arguments = ["-q", "-t", "ed25519", "-N", "", "-C", description.name]
        process.run(["ssh-keygen", *arguments, "-f", str(config / name)], timeout_s=60)
    public = (config / "id_ed25519.pub").read_text(encoding="ascii")
    (config / "authorized_keys").write_text(public, encoding="ascii")
    host = (config / "host_key.pub").read_text(encoding="ascii")
    (config / "known_hosts").write_text(configuration.known_hosts(host), encoding="ascii")
    (config / "sshd_config").write_text(configuration.SSHD, encoding="ascii")
    (config / "prte.conf").write_text(configuration.PRTE, encoding="ascii")
    (config / "init").write_text(configuration.INIT, encoding="ascii")
    (config / "init").chmod(0o755)
    home = folder / "home" / configuration.USER
    (home / ".ssh").mkdir(parents=True, mode=0o700, exist_ok=True)
    key = home / ".ssh" / "id_ed25519"
    shutil.copyfile(config / "id_ed25519", key)
    key.chmod(0o600)
    for path in (home, home / ".ssh", key):
        os.chown(path, _ID, _ID)
    if description.slurm:
        (config / "munge.key").write_bytes(secrets.token_bytes(128))
        (config / "munge.key").chmod(0o600)
    if more := _more(description):
        (config / "more").write_text(more, encoding="ascii")
        (config / "more").chmod(0o755)
    if description.accounting:
        (config / "slurmdbd.conf").write_text(accounting.SLURMDBD, encoding="ascii")
        (config / "accounting").write_text(accounting.START, encoding="ascii")
        (config / "accounting").chmod(0o755)
    write(folder, description, host_cpus, nodes)


def _more(description: Description) -> str:
    """Script that nodes run once they are on the network; empty if there is nothing to do."""
    slurms = slurm.START if description.slurm else ""
    return slurms + (netboot.START if description.boot == "pxe" else "")


def write(
    folder: Path, description: Description, host_cpus: Sequence[int], nodes: int | None = None
) -> None:
    """Write the files that depend on the number of nodes; each is replaced atomically."""
    cpus = description.cpus * (description.nodes if nodes is None else nodes)
    write_names(folder, description)
    _replace(folder, "hostfile", configuration.hostfile(description))
    _replace(folder, "mpi.conf", configuration.mpi(cpus, len(host_cpus)))


def write_names(folder: Path, description: Description) -> None:
    """Write the files that must name a new node before it starts: `hosts`, and Slurm's."""
    _replace(folder, "hosts", configuration.hosts(description))
    if description.slurm:
        _replace(folder, "slurm.conf", slurm.configuration(description))


def _replace(folder: Path, name: str, text: str) -> None:
    journal.write_durably(folder / "config" / name, text.encode())


def forget(folder: Path, nodes: Sequence[Node]) -> None:
    """Remove the disks of removed nodes."""
    for node in nodes:
        undo.remove_tree(folder / "disks" / node.name)


def stop_watching(entry: journal.Entry) -> None:
    """End the cluster's watcher, if there is one."""
    undo.kill_marked(entry.id)


def put(folder: Path, source: Path) -> None:
    """Copy a file into the user's home. Errors: ProgramError if that fails.

    Symbolic links made on the cluster are not followed out of the home.
    """
    home = folder / "home"
    target = PurePosixPath("/") / configuration.USER / source.name
    rooted.put(home, source, target)
    os.chown(home / configuration.USER / source.name, _ID, _ID, follow_symlinks=False)
