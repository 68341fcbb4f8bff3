"""Keys and addresses of clouds, from the files of each cloud's own tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.clouds import credentials, providers
from aferir.errors import UsageError
from aferir.model.cloud import ProviderName, Wanted

PROVIDERS: tuple[ProviderName, ...] = ("ec2", "cloudstack", "opennebula")


def test_without_credentials_the_check_says_where_they_belong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in PROVIDERS:
        for variable in ("CLOUDSTACK_KEY", "ONE_AUTH"):
            monkeypatch.delenv(variable, raising=False)
        (finding,) = providers.cloud(Wanted(provider=name)).check()
        assert finding.status == "missing"
        assert finding.remedy


def test_keys_come_from_each_clouds_own_files(tmp_path: Path) -> None:
    for name, text in {
        ".aws/credentials": "[default]\naws_access_key_id = a\naws_secret_access_key = s%1\n",
        ".aws/config": "[default]\nregion = eu-west-1\n",
        ".euca/one.ini": "[user me]\nkey-id = e\nsecret-key = t\n[region r]\nec2-url = http://h/p\n",
        ".cmk/config": "profile = p\n[p]\napikey = c\nsecretkey = u\nurl = https://h:8443/api\n",
        ".one/one_auth": "o:v:w\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    found = [credentials.ec2(), credentials.eucalyptus(), credentials.cloudstack()]
    assert [(key.name, key.secret.text) for key in found] == [("a", "s%1"), ("e", "t"), ("c", "u")]
    assert found[0].region == "eu-west-1"
    assert credentials.opennebula().secret.text == "v:w"
    assert all("Secret(...)" in repr(key) for key in found)
    assert credentials.address_of(found[2].url) == (True, "h", 8443)
    assert credentials.path_of(found[1].url) == "/p"


@pytest.mark.parametrize("url", ["", "h", "ftp://h", "http://", "http://h:x/"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="no address"):
        credentials.address_of(url)


@pytest.mark.parametrize(
    "text",
    [
        'provider = "elsewhere"',
        'provider = "ec2"\npassword = "x"',
        "provider =",
        'provider = "ec2"\nport = "x"',
    ],
)
def test_a_file_that_names_no_cloud_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cloud.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"cloud\.toml"):
        providers.read_wanted(path)
