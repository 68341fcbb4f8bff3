"""A Node: NGINX that sends one video, each client at a limited rate."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from aferir import process
from aferir.errors import MissingError, ProgramError

VIDEO_BPS = 2_698_000
"""At which the published video is played, and ..."""
SENT_BPS = 2_968_000
"""... sent (Dutra 2015, 5.3)."""
_START_S = 10.0
_CONNECTIONS = 20_000
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


class Node(msgspec.Struct, frozen=True):
    """One that runs."""

    url: str
    """Of the video."""
    pid: int
    """Of NGINX's worker, which does the work."""


def configuration(
    folder: Path, address: str, port: int, *, sent_bps: int = SENT_BPS, connections: int
) -> str:
    """Text of nginx.conf for one worker in the foreground; everything it writes is in `folder`."""
    temporary = "\n".join(f"  {name}_temp_path {folder}/{name};" for name in _TEMPORARY)
    return f"""worker_processes 1;
worker_rlimit_nofile {2 * connections};
daemon off;
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
    limit_rate {sent_bps // 8};
  }}
}}
"""


@contextlib.contextmanager
def native_node(
    video: Path, *, sent_bps: int = SENT_BPS, connections: int = _CONNECTIONS
) -> Iterator[Node]:
    """Run one on loopback and end it. Errors: MissingError without NGINX, ProgramError."""
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if nginx is None:
        raise MissingError("there is no nginx here", remedy="apt-get install nginx-light")
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="aferir-node-") as name:
        folder = Path(name)
        (folder / "videos").mkdir()
        (folder / "videos" / video.name).symlink_to(video.resolve())
        path = folder / "nginx.conf"
        path.write_text(
            configuration(folder, "127.0.0.1", port, sent_bps=sent_bps, connections=connections),
            encoding="utf-8",
        )
        # The worker runs as another user, who has to read the video.
        folder.chmod(0o755)
        child = process.start(
            [nginx, "-e", str(folder / "error.log"), "-c", str(path)],
            stderr=subprocess.PIPE,
        )
        try:
            worker = _worker(child, port)
            yield Node(url=f"http://127.0.0.1:{port}/{video.name}", pid=worker)
        finally:
            process.end(child)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _worker(child: subprocess.Popen[str], port: int) -> int:
    """Wait until it answers. Errors: ProgramError where it does not."""
    deadline = time.monotonic() + _START_S
    children = Path(f"/proc/{child.pid}/task/{child.pid}/children")
    while time.monotonic() < deadline and child.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            pids = children.read_text(encoding="ascii").split()
            if pids:
                return int(pids[0])
        time.sleep(0.02)
    if child.poll() is not None and child.stderr is not None:
        raise ProgramError(f"nginx ended at once: {child.stderr.read().strip()[:300]}")
    raise ProgramError("nginx does not answer")
