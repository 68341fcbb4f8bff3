"""A Node: NGINX that sends one video, in one file or in segments."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urljoin

import msgspec

from aferir.clouds.base import Template
from aferir.clouds.context import USER_DATA, Content
from aferir.elastic.segments import files
from aferir.elastic.video import NAME, SENT_BPS, Video
from aferir.errors import MissingError, ProgramError, UsageError
from aferir.linux import ports, process, scratch, wait
from aferir.model.cloud import Wanted

_START_S = 60.0
"""Time limit in s for NGINX to listen, which takes it milliseconds where a processor is free."""
_CONNECTIONS = 20_000
_INSIDE = Path("/srv/aferir")
_CONFIGURATION, _VIDEOS = f"{_INSIDE}/nginx.conf", f"{_INSIDE}/videos"
_START = f"nginx -e {_INSIDE}/error.log -c {_CONFIGURATION}"
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
    port: int = 0,
    inside: str | None = None,
) -> Iterator[Node]:
    """Start a Node and end it afterwards; `inside`: network namespace that has the address.

    `sent_bps` 0 is no limit, `port` 0 a free one.

    Errors: MissingError if NGINX is not installed, RefusedError if its worker cannot reach its
    files since TMPDIR is closed, ProgramError if it does not answer.
    """
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if nginx is None:
        raise MissingError("there is no nginx here", remedy="apt-get install nginx-light")
    # The worker, another user, reads the video.
    chosen = contextlib.nullcontext(port) if port else ports.reserved()
    with scratch.folder(0o755) as folder, chosen as port:  # noqa: PLR1704 - the same, if not 0
        (folder / "videos").mkdir()
        scratch.require_open(folder)
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
    path.write_text(_own_configuration(sent_bps), encoding="utf-8")
    return Template(
        files={_CONFIGURATION: path, **{f"{_VIDEOS}/{one.name}": one for one in files(video)}},
        start=_START,
        probe=f"/{video.name}",
    )


def content(source: str, *, sent_bps: int = SENT_BPS, names: Sequence[str] = (NAME,)) -> Content:
    """What makes a Node of an instance of a stock image, which fetches the video from `source`.

    A video in segments has several files, all beside `source`.
    """
    urls = [source] if len(names) == 1 else [urljoin(source, name) for name in names]
    return Content(
        files={_CONFIGURATION: _own_configuration(sent_bps)},
        fetched={f"{_VIDEOS}/{name}": url for name, url in zip(names, urls, strict=True)},
        start=_START,
        program="nginx",
        package="nginx-light",
    )


def told(wanted: Wanted, video: Video) -> Wanted:
    """Instances of a cloud, with user data that make Nodes of them, if their context takes any.

    Errors: as `alone`.
    """
    written = USER_DATA.get(wanted.context)
    if written is None or wanted.user_data:
        return wanted
    user_data = written(content(wanted.source, sent_bps=alone(video).limit_bps))
    return msgspec.structs.replace(wanted, user_data=user_data)


def alone(video: Video) -> Video:
    """The video, which is one file. Errors: UsageError for one in segments, which are many."""
    if video.rates_bps:
        raise UsageError(
            "user data have instances of a cloud fetch one file, not segments",
            remedy='leave out `rates_mbit`, or take context = "image"',
        )
    return video


def _own_configuration(sent_bps: int) -> str:
    """Configuration of an instance, which has no other use for its addresses."""
    return configuration(_INSIDE, "0.0.0.0", 80, sent_bps=sent_bps, foreground=False)  # noqa: S104


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
