"""The adapter of EC2 against moto, a server that this project has not written."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import boto3  # type: ignore[import-untyped]
import pytest

from aferir.clouds.ec2 import Ec2
from aferir.errors import AferirError, UsageError
from aferir.model.cloud import Wanted

AN_IMAGE = "ami-03cf127a"
"""An image that moto comes with."""
UNKNOWN = "i-0123456789abcdef0"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = Path(__file__).with_name("moto_ec2.py")
    with subprocess.Popen(
        [sys.executable, str(server)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        try:
            assert port, "moto did not start: `make setup-dev` installs it"
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.fixture(autouse=True)
def credentials(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_ENDPOINT_URL": address,
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)


def ec2(image: str = AN_IMAGE, size: str = "t2.micro", network: str = "") -> Ec2:
    return Ec2(Wanted(provider="ec2", image=image, size=size, network=network))


def test_an_instance_is_requested_seen_and_removed() -> None:
    cloud = ec2()
    assert [finding.status for finding in cloud.check()] == ["ok"]
    identity = cloud.request("aferir-0badcafe-1")
    look = cloud.looks([identity])[identity]
    assert look.stage == "booting", "moto's instances run at once"
    assert look.address
    assert cloud.remove(identity)
    assert cloud.looks([identity])[identity].stage == "gone"


def test_user_data_reach_the_instance() -> None:
    text = "#cloud-config\n{}\n"
    cloud = Ec2(
        Wanted(
            provider="ec2", image=AN_IMAGE, size="t2.micro", context="cloud-init", user_data=text
        )
    )
    identity = cloud.request("aferir-0badcafe-6")
    client = boto3.client("ec2", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
    kept = client.describe_instance_attribute(InstanceId=identity, Attribute="userData")
    assert base64.b64decode(kept["UserData"]["Value"]).decode() == text
    assert cloud.remove(identity)


def test_public_addresses_are_those_that_the_internet_sees() -> None:
    private, public = (
        ec2(),
        Ec2(Wanted(provider="ec2", image=AN_IMAGE, size="t2.micro", address="public")),
    )
    identity = private.request("aferir-0badcafe-2")
    found = {cloud.looks([identity])[identity].address for cloud in (private, public)}
    assert len(found) == 2
    assert private.remove(identity)


def test_one_unknown_instance_hides_no_other() -> None:
    """EC2 describes none of them if it does not know one."""
    cloud = ec2()
    identity = cloud.request("aferir-0badcafe-3")
    assert list(cloud.looks([UNKNOWN, identity])) == [identity]
    assert cloud.looks([UNKNOWN]) == {}
    assert cloud.remove(identity)


def test_removing_an_unknown_instance_is_no_error() -> None:
    assert not ec2().remove(UNKNOWN)


@pytest.mark.parametrize("image", ["ami-ffffffff", "no-image-of-that-name"])
def test_an_unknown_image_is_named(image: str) -> None:
    cloud = ec2(image=image)
    (finding,) = cloud.check()
    assert finding.status == "missing"
    assert image in finding.message
    with pytest.raises(AferirError, match=image):
        cloud.request("aferir-0badcafe-4")


def test_an_unknown_subnet_is_named() -> None:
    with pytest.raises(UsageError, match="subnet-none"):
        ec2(network="subnet-none").request("aferir-0badcafe-5")
