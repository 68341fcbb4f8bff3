"""Describes which instances of a cloud an experiment requests."""

from __future__ import annotations

from typing import Literal

import msgspec

ProviderName = Literal["openstack", "opennebula", "cloudstack", "ec2", "eucalyptus", "lxd"]

Context = Literal["image", "cloud-init", "ignition", "none"]
"""Way in which an instance learns what it is to do: from its image, which has all of it; from user
data, which cloud-init or Ignition in its image carries out; or not at all.
"""

WANTED = "AFERIR_CLOUD"
"""Environment variable by which a program of kind `cloud` receives the request, as JSON."""


VIDEO = "/video.mp4"
"""Path of the video below the URL of a Node."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Requested instances and their cloud; credentials are read elsewhere."""

    provider: ProviderName
    image: str = ""
    """Name or id of an image that serves requests once it has booted; empty for OpenNebula, where
    the template names it.
    """
    size: str = ""
    """Name or id of a flavor, service offering or instance type; OpenNebula: of a template; LXD: of
    a profile.
    """
    network: str = ""
    """Name or id of the network, in LXD of a bridge; empty: the cloud's default."""
    address: Literal["private", "public"] = "private"
    """Address of an instance to which ElasticMovie's dispatcher (Front), clients and ssh connect.
    """
    port: int = 80
    probe: str = VIDEO
    """Path that answers with status 200 once an instance serves; empty: an SSH server is there."""
    limit_s: float = 600.0
    """Time limit in s for an instance to serve, from the request on."""
    context: Context = "image"
    source: str = ""
    """URL from which instances fetch the video, with `context` cloud-init or ignition."""
    user_data: str = ""
    """Text that instances are given by the cloud; empty: what `context` takes."""

    def __post_init__(self) -> None:
        """Check the context. Errors: ValueError that says what is missing or contradictory."""
        told = self.context in ("cloud-init", "ignition")
        if told and self.provider == "lxd":
            raise ValueError("containers of LXD are made of an image that has all that they need")
        if told and not (self.source or self.user_data):
            raise ValueError(f'context = "{self.context}" takes `source`, the URL of the video')
        if not told and (self.source or self.user_data):
            raise ValueError(f'context = "{self.context}" has no `source` and no `user_data`')
        if self.context == "none" and self.probe == VIDEO:
            raise ValueError('context = "none" has no video: port = 22, probe = "" waits for ssh')
