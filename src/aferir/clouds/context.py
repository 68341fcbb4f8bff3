"""User data: what an instance of a stock image is told, in order to become a Node.

`cloud-config` is a document of cloud-init (its documentation, "Cloud config examples", modules
write_files and runcmd), `ignition` one of Ignition (Configuration Specification v3.0.0, the oldest
of version 3, which all later releases read). JSON is YAML, too, so both are written as JSON.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping

import msgspec

from aferir.model.cloud import Context

UNIT = "aferir-node.service"
"""Unit of systemd by which an instance that Ignition has set up starts its service."""
_HEAD = "#cloud-config\n"
_FETCH = "import sys, urllib.request; urllib.request.urlretrieve(*sys.argv[1:])"
"""Program in Python, which every image with cloud-init has, that fetches a URL into a file."""
_INSTALL = """command -v {program} > /dev/null || {{
  apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install {package}
}}
systemctl disable --now {program} # the service that comes with the package has the port"""


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a Node of an instance of a stock image."""

    files: Mapping[str, str]
    """Text of each file by its absolute path."""
    fetched: Mapping[str, str]
    """URL of each file that is too large for user data, by its absolute path."""
    start: str
    """Shell command that starts the service, without double quotes and line ends."""
    program: str
    """First word of `start`, and the name of the service that comes with `package`."""
    package: str
    """Debian package that is installed if an image with cloud-init lacks `program`."""


def cloud_config(content: Content) -> str:
    """User data for cloud-init: files, then the fetched ones, then the service."""
    return _HEAD + _json(
        {
            "write_files": [
                {"path": path, "content": text} for path, text in content.files.items()
            ],
            "runcmd": [
                _INSTALL.format(program=content.program, package=content.package),
                *(["mkdir", "-p", path.rpartition("/")[0]] for path in content.fetched),
                *(["python3", "-c", _FETCH, url, path] for path, url in content.fetched.items()),
                content.start,
            ],
        }
    )


def ignition(content: Content) -> str:
    """User data for Ignition: the same files, and a unit that starts the service.

    Ignition installs no packages, so the image has to have the program.
    """
    inline = {
        path: f"data:;base64,{base64.b64encode(text.encode()).decode()}"
        for path, text in content.files.items()
    }
    unit = (
        "[Unit]\nAfter=network-online.target\nWants=network-online.target\n"
        f'[Service]\nType=forking\nExecStart=/bin/sh -c "exec {content.start}"\n'
        "[Install]\nWantedBy=multi-user.target\n"
    )
    return _json(
        {
            "ignition": {"version": "3.0.0"},
            "storage": {
                "files": [
                    {"path": path, "mode": 0o644, "overwrite": True, "contents": {"source": source}}
                    for path, source in (*inline.items(), *content.fetched.items())
                ]
            },
            "systemd": {
                "units": [
                    {"name": f"{content.program}.service", "mask": True},
                    {"name": UNIT, "enabled": True, "contents": unit},
                ]
            },
        }
    )


USER_DATA: Mapping[Context, Callable[[Content], str]] = {
    "cloud-init": cloud_config,
    "ignition": ignition,
}
"""Function that writes the user data, for each context that takes any."""


def encoded(text: str) -> str:
    """User data as most clouds take it, in Base64; empty if there is none."""
    return base64.b64encode(text.encode()).decode()


def _json(document: object) -> str:
    return msgspec.json.format(msgspec.json.encode(document)).decode() + "\n"
