"""Clouds by the name of their provider."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from aferir.clouds.base import Cloud
from aferir.clouds.lxd_named import NamedLxd
from aferir.clouds.remote import Provider, RemoteCloud, name_of, remove_named, wanted_of
from aferir.errors import MissingError, UsageError
from aferir.linux import journal
from aferir.model.cloud import Wanted


def read_wanted(path: Path) -> Wanted:
    """Which instances a file asks for: `Wanted` as one table of TOML, without credentials.

    Errors: UsageError where the file is not readable, or says what no cloud has.
    """
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Wanted)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", remedy="name a file with a cloud") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        remedy = 'write provider = "openstack", image, size and network; see docs/guides/elastic.md'
        raise UsageError(f"{path}: {error}", remedy=remedy) from None


def provider(wanted: Wanted) -> Provider:
    """Made without asking it anything. Errors: MissingError without the library for it."""
    try:
        if wanted.provider == "openstack":
            from aferir.clouds.openstack import OpenStack

            return OpenStack(wanted)
        if wanted.provider == "opennebula":
            from aferir.clouds.opennebula import OpenNebula

            return OpenNebula(wanted)
        from aferir.clouds.by_libcloud import ByLibcloud
    except ModuleNotFoundError as error:
        raise MissingError(
            f"{wanted.provider} needs the Python package {error.name}",
            remedy="pip install 'aferir[clouds]'",
        ) from None
    return ByLibcloud(wanted)


def cloud(wanted: Wanted) -> Cloud:
    """Instances as wanted. Errors: MissingError without the library for it."""
    if wanted.provider == "lxd":
        return NamedLxd(wanted)
    return RemoteCloud(wanted, provider(wanted))


def give_back(entry: journal.Entry) -> None:
    """Remove an instance that a killed process left, and its entry.

    Errors: AferirError where the cloud does not answer, or credentials are missing now; the entry
    stays then.
    """
    remove_named(provider(wanted_of(entry)), name_of(entry))
    journal.erase(entry)
