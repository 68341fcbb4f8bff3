"""A Node: NGINX that sends one video, in one file or in segments."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec

from aferir.clouds.base import Template
from aferir.elastic.segments import files
from aferir.elastic.video import SENT_BPS
from aferir.errors import MissingError, ProgramError
from aferir.linux import ports, process, scratch, wait

_START_S = 60.0
"""Time limit in s for NGINX to listen, which takes it milliseconds where a processor is free."""
_CONNECTIONS = 20_000
_INSIDE = Path("/srv/aferir")
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


class Node(msgspec.Struct, frozen=True):
    """A running Node."""

    url: str
    """URL of the video."""
    pid: int
    """Process ID of NGINX's worker."""


def configuration(
    folder: Path,
    address: str,
    port: int,
    *,
    sent_bps: int = SENT_BPS,
    connections: int = _CONNECTIONS,
    foreground: bool = True,
) -> str:
    """Text of nginx.conf for one worker; NGINX writes only to `folder`."""
    temporary = "\n".join(f"  {name}_temp_path {folder}/{name};" for name in _TEMPORARY)
    return f"""worker_processes 1;
worker_rlimit_nofile {2 * connections};
daemon {"off" if foreground else "on"};
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections {connections}; }}
http {{
{temporary}
  access_log off;
  sendfile on;
  open_file_cache max=16;
  server {{
    listen {address}:{port} backlog={connections};
    root {folder}/videos;
    default_type video/mp4;
    types {{ application/dash+xml mpd; }}
    limit_rate {sent_bps // 8};
  }}
}}
"""


@contextlib.contextmanager
def native_node(
    video: Path,
    *,
    sent_bps: int = SENT_BPS,
    connections: int = _CONNECTIONS,
    address: str = "127.0.0.1",
    inside: str | None = None,
) -> Iterator[Node]:
    """Start a Node and end it afterwards; `inside`: network namespace that has the address.

    Errors: MissingError if NGINX is not installed, ProgramError if it does not answer.
    """
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if nginx is None:
        raise MissingError("there is no nginx here", remedy="apt-get install nginx-light")
    # The worker, another user, reads the video.
    with scratch.folder(0o755) as folder, ports.reserved() as port:
        (folder / "videos").mkdir()
        for file in files(video):
            (folder / "videos" / file.name).symlink_to(file.resolve())
        path = folder / "nginx.conf"
        path.write_text(
            configuration(folder, address, port, sent_bps=sent_bps, connections=connections),
            encoding="utf-8",
        )
        command = [nginx, "-e", str(folder / "error.log"), "-c", str(path)]
        within = ["ip", "netns", "exec", inside] if inside else []
        # NGINX clears its parent-death signal: a worker would survive a kill of its parents.
        alone = process.ALONE if os.geteuid() == 0 else ()
        child = process.start([*within, *alone, *command], stderr=subprocess.PIPE)
        try:
            worker = _worker(child, address, port, generations=2 if alone else 1)
            yield Node(url=f"http://{address}:{port}/{video.name}", pid=worker)
        finally:
            process.end(child)


def template(video: Path, folder: Path, *, sent_bps: int = SENT_BPS) -> Template:
    """Template of a Node's image; `folder` gets a file that must exist as long as the template."""
    path = folder / "nginx.conf"
    path.write_text(
        configuration(_INSIDE, "0.0.0.0", 80, sent_bps=sent_bps, foreground=False),  # noqa: S104 - an instance's own
        encoding="utf-8",
    )
    return Template(
        files={
            f"{_INSIDE}/nginx.conf": path,
            **{f"{_INSIDE}/videos/{file.name}": file for file in files(video)},
        },
        start=f"nginx -e {_INSIDE}/error.log -c {_INSIDE}/nginx.conf",
        probe=f"/{video.name}",
    )


def _worker(child: subprocess.Popen[str], address: str, port: int, *, generations: int) -> int:
    """Wait until NGINX listens; returns the process ID of its worker. Errors: ProgramError."""
    found: list[int] = []

    def answers_or_ended() -> bool:
        with contextlib.suppress(OSError), socket.create_connection((address, port), 1):
            found[:] = [child.pid]
            for _ in range(generations):
                found[:] = [below for pid in found for below in _children(pid)]
        return bool(found) or child.poll() is not None

    wait.until(answers_or_ended, wait.after(_START_S), period_s=0.02)
    if found:
        return found[0]
    if child.poll() is not None and child.stderr is not None:
        raise ProgramError(f"nginx ended at once: {child.stderr.read().strip()[:300]}")
    raise ProgramError("nginx does not answer")


def _children(pid: int) -> list[int]:
    said = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(word) for word in said.split()]
