"""Nodes as LXC containers: see `environments.container`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from aferir.cluster import configuration, disks, network
from aferir.cluster.description import Node, number_of
from aferir.cluster.nodes import Place, disk_folder, image_of, make_folders
from aferir.cluster.workshop import Workshop
from aferir.environments import groups
from aferir.environments.lxc import config_file, container
from aferir.environments.lxc.spec import KIND
from aferir.errors import ProgramError
from aferir.linux import cgroup, journal, process, undo, wait
from aferir.model.finding import Finding
from aferir.model.plan import EnvironmentSpec

_TIME_LIMIT_S = 60.0
_READY_LIMIT_S = 300.0
"""Limit in s of a node's own start: the database of Slurm's accounting takes 1.5 s of CPU time."""
_ESCAPED = str.maketrans({"\\": "\\\\", ":": "\\:", ",": "\\,"})
_VARIABLES = {"LANG": "C.UTF-8", "TERM": "xterm-256color"}


class ContainerNodes:
    """Creates, finds and removes nodes that are containers; needs root."""

    own_kernel = False
    kept_bytes = 0

    def check(self) -> list[Finding]:
        """Findings on what containers need."""
        return container.Container().check()

    def announce(self, place: Place) -> journal.Entry:
        """Write a journal entry by which `aferir clean` can remove the container."""
        details = {"containers": str(journal.state_folder() / "containers")}
        return journal.write(KIND, details, kept_by=place.folder / "cluster.json")

    def start(self, place: Place, node: Node, entry: journal.Entry) -> None:
        """Start LXC in the background, then connect the network."""
        folder = container.folder_of(entry)
        upper = make_folders(place, node, folder) / "upper"
        upper.mkdir(exist_ok=True)
        (upper / configuration.READY).unlink(missing_ok=True)
        text = _config(place, node, entry, upper)
        (folder / "config").write_text(text, encoding="utf-8")
        log = folder / "log"
        command = config_file.daemon_command(folder.parent, container.name_of(entry), log)
        try:
            process.run(command, timeout_s=_TIME_LIMIT_S, environment={undo.MARK: entry.id})
        except ProgramError as error:
            said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
            raise ProgramError(
                f"{node.name} did not start: {config_file.reason(said) or error.message}",
                remedy="lxc-checkconfig(1) tells what the kernel lacks",
            ) from None
        first = self.process(entry)
        if first is None:
            raise ProgramError(f"{node.name} started and ended at once")
        network.join(place.network, node, first, place.mtu)

    def wait(self, place: Place, node: Node, entry: journal.Entry) -> None:
        """Wait until the node's first program has created the file `configuration.READY`."""
        upper = disk_folder(place, node, container.folder_of(entry)) / "upper"
        ready = upper / configuration.READY
        wait.until(
            lambda: ready.exists() or self.process(entry) is None,
            wait.after(_READY_LIMIT_S),
            period_s=0.005,
        )
        if not ready.exists():
            raise ProgramError(
                f"{node.name} started and did not become ready",
                remedy="see whether the host is out of memory (dmesg)",
            )

    def process(self, entry: journal.Entry) -> int | None:
        """ID of the node's first process; None if it does not run."""
        found = container.accounting(container.name_of(entry)).processes
        return found[0] if found else None

    def pin(self, entry: journal.Entry, cpus: Sequence[int]) -> None:
        """Restrict the node to CPUs by the cpuset of its control group."""
        have = cgroup.layout()
        text = ",".join(map(str, cpus))
        for folder in cgroup.find(container.name_of(entry), have):
            if folder.name == container.name_of(entry) and (folder / "cpuset.cpus").exists():
                (folder / "cpuset.cpus").write_text(text, encoding="ascii")

    def enter(
        self, place: Place, node: Node, command: Sequence[str], variables: Mapping[str, str]
    ) -> list[str]:
        """Command line on the host that runs a command inside, by lxc-attach(1)."""
        folder = journal.state_folder() / "containers"
        inside = {**_VARIABLES, **variables}
        return config_file.attach_command(folder, f"aferir-{node.entry}", command, inside)

    def pause(self, entry: journal.Entry, *, paused: bool) -> None:
        """Freeze or thaw all processes of the node."""
        groups.freeze(container.accounting(container.name_of(entry)).cgroups, frozen=paused)

    def save_disk(self, place: Place, node: Node, shop: Workshop, target: Path) -> int:
        """Save the node's root, with both overlay layers merged."""
        upper = place.folder / "disks" / node.name / "upper"
        root = _mount_layers(shop, node.name, [upper, image_of(place, node) / "tree"])
        return disks.from_folder(shop, root, target)

    def give_back(self, entry: journal.Entry) -> None:
        """Remove the node, as `aferir clean` does."""
        container.give_back(entry)


def _mount_layers(shop: Workshop, name: str, layers: Sequence[Path]) -> Path:
    """Mount a container's root read-only in the workshop."""
    target = shop.folder / f"{name}.mounted"
    target.mkdir()
    escaped = [str(path).translate(_ESCAPED) for path in layers]
    options = f"ro,lowerdir={':'.join(escaped)}"
    process.run(["mount", "-t", "overlay", "-o", options, "aferir", str(target)], timeout_s=60)
    return target


def _config(place: Place, node: Node, entry: journal.Entry, upper: Path) -> str:
    description = place.description
    spec = EnvironmentSpec(
        name=node.name,
        kind="container",
        cpus=description.cpus,
        memory_bytes=description.memory_bytes,
    )
    home, shared = place.folder / "home", place.folder / "config"
    return config_file.config(
        spec,
        name=container.name_of(entry),
        tree=image_of(place, node) / "tree",
        upper=upper,
        cpus=node.cpus,
        have=cgroup.layout(),
        seccomp=container.seccomp(),
        host_name=node.name,
        first_program=f"{configuration.FOLDER}/init {number_of(node)}",
        mounts=(
            config_file.bound(home, PurePosixPath("/home")),
            config_file.bound(shared, PurePosixPath(configuration.FOLDER), read_only=True),
        ),
    )
