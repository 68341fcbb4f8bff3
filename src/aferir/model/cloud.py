"""Describes which instances of a cloud an experiment requests."""

from __future__ import annotations

from typing import Literal

import msgspec

ProviderName = Literal["openstack", "opennebula", "cloudstack", "ec2", "eucalyptus", "lxd"]

WANTED = "AFERIR_CLOUD"
"""Environment variable by which a program of kind `cloud` receives the request, as JSON."""


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
    probe: str = "/video.mp4"
    """Path that answers with status 200 once an instance serves; empty: an SSH server is there."""
    limit_s: float = 600.0
    """Time limit in s for an instance to serve, from the request on."""
