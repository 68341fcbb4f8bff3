"""NGINX as a service: pages of text, compressed for each request as a front server does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from aferir.colocation.trials.service import LOOPBACK, Running, wait_for
from aferir.errors import MissingError
from aferir.linux import ports, process
from aferir.machine import packages

_CONFIGURATION = """
user root;
worker_processes {workers};
daemon off;
pid {folder}/pid;
error_log {errors};
events {{ worker_connections 2048; }}
http {{
  log_format timed '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
    '"$http_referer" "$http_user_agent" $request_time';
  access_log {log} timed;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  default_type text/plain;
  keepalive_requests 1000000;
  upstream pages {{ server 127.0.0.1:{inner}; keepalive 64; }}
  server {{
    {listen}
    location / {{
      proxy_pass http://pages; proxy_http_version 1.1; proxy_buffers 16 64k;
      proxy_set_header Connection ""; proxy_set_header Accept-Encoding gzip;
    }}
  }}
  server {{
    listen 127.0.0.1:{inner} backlog=4096;
    access_log off;
    root {folder}/pages;
    gzip on; gzip_types text/plain; gzip_proxied any; gzip_min_length 1; gzip_comp_level 6;
    gzip_buffers 32 16k;
  }}
}}
"""
_PAGES = ((16, 40), (64, 40), (160, 20))
"""Page sizes in KiB, and how many of 100 requests ask for each: the 95th percentile is one of the
largest."""
_TEXTS = (Path("/usr/share/common-licenses"), Path("/usr/share/perl"), Path("/usr/lib/python3"))


@contextmanager
def running(
    folder: Path, workers: int, addresses: Sequence[str] = (LOOPBACK,)
) -> Iterator[Running]:
    """Start NGINX, which listens on `addresses`; it is ended afterwards.

    Errors: MissingError if it is not installed, ProgramError.
    """
    nginx = shutil.which("nginx", path=packages.search_path())
    if nginx is None:
        raise MissingError("there is no nginx", remedy=packages.install_command(["nginx"]))
    _write_pages(folder / "pages")
    log = folder / "access"
    errors = folder / "errors"
    log.touch()
    with ports.reserved() as port, ports.reserved() as inner:
        configuration = folder / "nginx.conf"
        configuration.write_text(
            _CONFIGURATION.format(
                folder=folder,
                errors=errors,
                log=log,
                listen=" ".join(f"listen {one}:{port} backlog=4096;" for one in addresses),
                inner=inner,
                workers=workers,
            )
        )
        child = process.start(
            [*process.ALONE, nginx, "-e", str(errors), "-c", str(configuration)],
        )
        try:
            wait_for(child, port, lambda: errors.read_text() if errors.exists() else "")
            yield Running(
                pid=child.pid,
                latency=f"nginx:{log}",
                threads=("^nginx",),
                targets=tuple(
                    (weight, f"http://127.0.0.1:{port}/{size}") for size, weight in _PAGES
                ),
            )
        finally:
            process.end(child)


def _write_pages(folder: Path) -> None:
    """Write pages of real text, or of repeated characters if this machine has no text."""
    folder.mkdir()
    text = b""
    for path in sorted(path for root in _TEXTS for path in root.rglob("*") if path.is_file()):
        text += path.read_bytes()[: 64 << 10] if path.suffix in ("", ".pm", ".py", ".pl") else b""
        if len(text) > (_PAGES[-1][0] << 10):
            break
    text = text or bytes(range(32, 127)) * 8
    for size, _ in _PAGES:
        (folder / str(size)).write_bytes((text * ((size << 10) // len(text) + 1))[: size << 10])
