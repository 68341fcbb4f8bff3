"""A guest whose kernel has control groups of version 2 alone, with this machine's files, read-only.

User-Mode Linux, since a host mounts a controller in one version only. The guest sees the host's
root through hostfs; /tmp, /var/tmp, /run and the kernel's file systems are its own. Its programs
run in that root itself and not in a chroot, which pivot_root(2) of containers would leave.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from aferir.environments.uml import guest
from aferir.environments.uml.guest import Guest
from aferir.environments.uml.machine import Share
from aferir.linux.process import Completed
from tests.checkout import ROOT
from tests.integration.support import built, usable

_HOST = PurePosixPath("/host")
_PREPARE = f"""set -e
mount -t cgroup2 cgroup2 /sys/fs/cgroup
cd {_HOST}
mount -t tmpfs run run
mount -t proc proc proc
mount -t sysfs sys sys
mount --bind /sys/fs/cgroup sys/fs/cgroup
mount --bind /dev dev
mount -t devpts -o ptmxmode=0666 pts dev/pts
mount -t tmpfs shm dev/shm
mkdir -p /var/tmp/tmp /var/tmp/var
chmod 1777 /var/tmp/tmp /var/tmp/var
mount --bind /var/tmp/tmp tmp
mount --bind /var/tmp/var var/tmp
"""
_ENTER = f'cd {_HOST} && pivot_root . mnt && umount -l /mnt && cd -- "$1" && shift && exec "$@"'
_SYSTEMD = """
mount -t tmpfs run /run
mount --make-rshared /
container=uml unshare --pid --fork --mount-proc --cgroup \
  /lib/systemd/systemd --unit=slices.target --log-target=null --show-status=false \
  > /dev/null 2>&1 < /dev/null &
until pid=$(pgrep --parent $!); do sleep 0.1; done
until nsenter -t $pid -m -p -C systemctl is-active --quiet slices.target; do sleep 0.2; done
echo $pid
"""
_MODULES = ("loop", "overlay")
_MEMORY_BYTES = 2**30


@contextmanager
def booted() -> Iterator[Guest]:
    """The guest; skips where User-Mode Linux or the image is missing."""
    usable("uml")
    share = Share(Path("/"), _HOST)
    wanted = guest.Wanted(memory_bytes=_MEMORY_BYTES, modules=_MODULES, shares=[share])
    made = guest.boot(built(), wanted)
    try:
        made.run(["sh", "-c", _PREPARE])
        yield made
    finally:
        made.release()


def inside(made: Guest, *command: str) -> Completed:
    """Run a command of the host in the guest, in the checkout, with this interpreter's path."""
    words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _ENTER, "sh", str(ROOT)]
    told = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": "/tmp/hypothesis",
        "HOME": "/root",
    }
    return made.run([*words, *command], environment=told, check=False)


def tested(made: Guest, *arguments: str, within: str) -> Completed:
    """Run this repository's own tests in the guest; `within`: a prefix of their command or ""."""
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return inside(made, "sh", "-c", f"{within} {shlex.join(line)} 2>&1")


def with_systemd(made: Guest) -> str:
    """Start the host's systemd in namespaces of the guest; returns the prefix of its programs.

    It owns the hierarchy of version 2 then, and starts no unit but its slices.
    """
    done = inside(made, "sh", "-c", _SYSTEMD)
    assert done.exit_code == 0, done.stderr
    enter = f"nsenter --target {int(done.stdout)} --mount --pid --cgroup"
    return f"{enter} env --chdir={shlex.quote(str(ROOT))}"
