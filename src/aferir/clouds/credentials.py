"""Credentials of clouds, from the files and variables that each cloud's own tools read.

They are never part of an experiment, and a `Secret` is not shown when it is printed. Sources: AWS
CLI user guide ("Configuration and credential file settings"), euca2ools.ini(5), CloudMonkey's wiki
("Configuration"), OpenNebula's documentation ("CLI environment variables").
"""

from __future__ import annotations

import configparser
import os
import urllib.parse
from pathlib import Path

import msgspec

from aferir.errors import UsageError
from aferir.linux.refusal import expanded

_LENT = {"role_arn", "sso_session", "sso_start_url", "credential_process", "source_profile"}
"""Settings of profiles for which the AWS CLI obtains temporary keys from another service."""


class Secret:
    """A secret text; its representation hides it, so that no log or message contains it."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return "Secret(...)"


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """Credentials for one cloud, and the cloud's address."""

    name: str
    secret: Secret
    token: Secret = Secret("")
    """Session token, without which temporary keys are invalid."""
    url: str = ""
    region: str = ""


def ec2() -> Key:
    """Credentials from AWS_ACCESS_KEY_ID and so on, else from the profile AWS_PROFILE in ~/.aws.

    A token is only used with the key from the same source. Errors: UsageError if there are none.
    """
    profile = os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"
    kept = _section(_path("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"), profile)
    named = profile if profile == "default" else f"profile {profile}"
    settings = _section(_path("AWS_CONFIG_FILE", "~/.aws/config"), named)
    told = {
        "aws_access_key_id": os.environ.get("AWS_ACCESS_KEY_ID", ""),
        "aws_secret_access_key": os.environ.get("AWS_SECRET_ACCESS_KEY", ""),
        "aws_session_token": os.environ.get("AWS_SESSION_TOKEN")
        or os.environ.get("AWS_SECURITY_TOKEN", ""),
    }
    sources = (told, kept, settings)
    keys = next((one for one in sources if one.get("aws_access_key_id")), {})
    remedy = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run `aws configure`"
    if not keys and {**kept, **settings}.keys() & _LENT:
        remedy = 'run eval "$(aws configure export-credentials --format env)": keys are lent here'
    return _key(
        name=keys.get("aws_access_key_id", ""),
        secret=keys.get("aws_secret_access_key", ""),
        token=keys.get("aws_session_token") or keys.get("aws_security_token", ""),
        url=os.environ.get("AWS_ENDPOINT_URL_EC2")
        or os.environ.get("AWS_ENDPOINT_URL")
        or settings.get("endpoint_url", ""),
        region=os.environ.get("AWS_REGION")
        or os.environ.get("AWS_DEFAULT_REGION")
        or settings.get("region")
        or kept.get("region")
        or "us-east-1",
        remedy=remedy,
    )


def eucalyptus() -> Key:
    """Credentials exported by `eucarc`, else from ~/.euca/*.ini. Errors: UsageError without any."""
    users: dict[str, str] = {}
    regions: dict[str, str] = {}
    for path in sorted(expanded("~/.euca").glob("*.ini")):
        parser = _parsed(path)
        for name in parser.sections():
            (users if name.startswith("user ") else regions).update(parser[name])
    return _key(
        name=os.environ.get("EC2_ACCESS_KEY") or users.get("key-id", ""),
        secret=os.environ.get("EC2_SECRET_KEY") or users.get("secret-key", ""),
        url=os.environ.get("EC2_URL") or regions.get("ec2-url", ""),
        remedy="source eucarc, or write ~/.euca/NAME.ini",
        needs_url=True,
    )


def cloudstack() -> Key:
    """Credentials from CLOUDSTACK_ENDPOINT, _KEY and _SECRET, else CloudMonkey's profile.

    The profile is in ~/.cmk/config. Errors: UsageError if there are none.
    """
    path = expanded("~/.cmk/config")
    profile = _section(path, "").get("profile", "localcloud")
    kept = _section(path, profile)
    return _key(
        name=os.environ.get("CLOUDSTACK_KEY") or kept.get("apikey", ""),
        secret=os.environ.get("CLOUDSTACK_SECRET") or kept.get("secretkey", ""),
        url=os.environ.get("CLOUDSTACK_ENDPOINT") or kept.get("url", ""),
        remedy="set CLOUDSTACK_ENDPOINT, CLOUDSTACK_KEY and CLOUDSTACK_SECRET, or set up `cmk`",
        needs_url=True,
    )


def opennebula() -> Key:
    """Credentials from ONE_XMLRPC, and `user:password` in the file ONE_AUTH or ~/.one/one_auth.

    Errors: UsageError if there are none.
    """
    try:
        text = _path("ONE_AUTH", "~/.one/one_auth").read_text(encoding="utf-8").strip()
    except OSError:
        text = ""
    name, _, secret = text.partition(":")
    return _key(
        name=name,
        secret=secret,
        url=os.environ.get("ONE_XMLRPC", "http://localhost:2633/RPC2"),
        remedy="write user:password into ~/.one/one_auth, and set ONE_XMLRPC",
    )


def address_of(url: str) -> tuple[bool, str, int]:
    """Whether a URL uses TLS, its host and its port. Errors: UsageError if it is invalid."""
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urllib.parse.urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url!r} is no address of a cloud", remedy="write https://HOST:PORT/PATH")
    secure = parts.scheme == "https"
    return secure, parts.hostname, port or (443 if secure else 80)


def path_of(url: str) -> str:
    """Path of a URL that `address_of` accepts."""
    return urllib.parse.urlsplit(url).path or "/"


def _key(
    *,
    name: str,
    secret: str,
    token: str = "",
    url: str = "",
    region: str = "",
    remedy: str,
    needs_url: bool = False,
) -> Key:
    if not name or not secret or (needs_url and not url):
        raise UsageError("there are no credentials for this cloud", remedy=remedy)
    return Key(name=name, secret=Secret(secret), token=Secret(token), url=url, region=region)


def _path(variable: str, usual: str) -> Path:
    return expanded(os.environ.get(variable) or usual)


def _section(path: Path, name: str) -> dict[str, str]:
    """A section of a file in INI form; with name "", the lines before any section.

    Empty if the section is absent or the file cannot be read.
    """
    parser = _parsed(path)
    wanted = name or _TOP
    return dict(parser[wanted]) if parser.has_section(wanted) else {}


_TOP = "\0top"


def _parsed(path: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, default_section="\0none")
    try:
        parser.read_string(f"[{_TOP}]\n{path.read_text(encoding='utf-8')}")
    except (OSError, ValueError, configparser.Error):
        return configparser.ConfigParser(interpolation=None)
    return parser
