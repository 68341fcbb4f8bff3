"""Clouds by the name of their provider."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from aferir.clouds import known, lxd_tagged, removal
from aferir.clouds.base import Cloud
from aferir.clouds.lxd_named import NamedLxd, usual_socket
from aferir.clouds.provider import Provider
from aferir.clouds.remote import RemoteCloud, made_of, wanted_of
from aferir.errors import MissingError, UsageError
from aferir.linux import journal
from aferir.model.cloud import Wanted


def read_wanted(path: Path) -> Wanted:
    """Instances that a file describes: `Wanted` as one table of TOML, without credentials.

    Errors: UsageError if the file cannot be read, or is invalid.
    """
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Wanted)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", remedy="name a file with a cloud") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        remedy = 'write provider = "openstack", image, size and network; see docs/guides/elastic.md'
        raise UsageError(f"{path}: {error}", remedy=remedy) from None


def provider(wanted: Wanted) -> Provider:
    """Create a provider, without any request. Errors: MissingError without its library."""
    try:
        return _PROVIDERS[wanted.provider](wanted)
    except ModuleNotFoundError as error:
        raise MissingError(
            f"{wanted.provider} needs the Python package {error.name}",
            remedy="pip install 'aferir[clouds]'",
        ) from None


def _openstack(wanted: Wanted) -> Provider:
    from aferir.clouds.openstack import OpenStack

    return OpenStack(wanted)


def _opennebula(wanted: Wanted) -> Provider:
    from aferir.clouds.opennebula import OpenNebula

    return OpenNebula(wanted)


def _cloudstack(wanted: Wanted) -> Provider:
    from aferir.clouds.cloudstack import CloudStack

    return CloudStack(wanted)


def _ec2(wanted: Wanted) -> Provider:
    from aferir.clouds.ec2 import Ec2

    return Ec2(wanted)


_PROVIDERS: Mapping[str, Callable[[Wanted], Provider]] = {
    "openstack": _openstack,
    "opennebula": _opennebula,
    "cloudstack": _cloudstack,
    "ec2": _ec2,
    "eucalyptus": _ec2,
}
"""Constructor of each provider, which imports the provider's library when it is called."""


def cloud(wanted: Wanted) -> Cloud:
    """The cloud that `wanted` names. Errors: MissingError if its library is not installed."""
    if wanted.provider == "lxd":
        return NamedLxd(wanted)
    return RemoteCloud(wanted, provider(wanted))


def give_back(entry: journal.Entry) -> None:
    """Remove an instance that a killed process left, and its entry.

    Errors: AferirError if the cloud does not answer or does not confirm the removal, or credentials
    are missing or lead elsewhere now; the entry stays.
    """
    cloud = provider(wanted_of(entry))
    known.check_place(cloud, entry.details.get("place", ""))
    removal.remove(cloud, made_of(entry))
    journal.erase(entry)


def sweep(file: Path | None, *, of_others: bool = False) -> known.Swept:
    """Release instances of this owner without a journal entry, in all clouds that were used.

    The cloud of `file` is searched as well; with `of_others`, instances of other owners there are
    released too. Errors: UsageError if the file is invalid.
    """
    if file is None:
        if of_others:
            raise UsageError("--of-others says nothing of which cloud", remedy="add --cloud FILE")
        return known.sweep(search)
    wanted = read_wanted(file)
    if wanted.provider == "lxd":
        asked = lxd_tagged.sweep(usual_socket(), of_others=of_others)
    else:
        asked = known.sweep_cloud(provider(wanted), of_others=of_others)
    used = known.sweep(search)
    return known.Swept(
        asked.removed + used.removed, asked.problems + used.problems, asked.of_others
    )


def search(used: known.Used) -> known.Swept:
    """Release instances of this owner without a journal entry in one cloud. Errors: AferirError."""
    if used.wanted.provider == "lxd":
        return lxd_tagged.sweep(Path(used.place))
    cloud = provider(used.wanted)
    known.check_place(cloud, used.place)
    return known.sweep_cloud(cloud)
