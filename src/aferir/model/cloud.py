"""Which instances of a cloud are wanted."""

from __future__ import annotations

from typing import Literal

import msgspec

ProviderName = Literal["openstack", "opennebula", "cloudstack", "ec2", "eucalyptus", "lxd"]

WANTED = "AFERIR_CLOUD"
"""Variable that tells a program in an environment of kind `cloud` what is wanted there, as JSON."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which instances, of which cloud. Credentials are elsewhere."""

    provider: ProviderName
    image: str = ""
    """Name or id of an image that serves by itself; OpenNebula has it in its template."""
    size: str = ""
    """Name or id of a flavor, a service offering or an instance type; OpenNebula: of a template;
    LXD: of a profile."""
    network: str = ""
    """Name or id; empty: as the cloud has it. LXD: a bridge."""
    address: Literal["private", "public"] = "private"
    """Which one Front and the clients reach."""
    port: int = 80
    probe: str = "/video.mp4"
    """What answers 200 when an instance serves."""
    limit_s: float = 600.0
    """Time for an instance to serve, from the request on."""
