"""Adapters against recorded answers of CloudStack and EC2 that apache-libcloud contains.

They are no servers: an answer is always the same, whatever the request says besides its command.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from aferir.clouds.cloudstack import CloudStack
from aferir.clouds.ec2 import Ec2
from aferir.errors import AferirError
from aferir.model.cloud import Wanted
from tests.unit.clouds.servers import served

SPEC = find_spec("libcloud")
assert SPEC is not None
assert SPEC.origin is not None
RECORDED = Path(SPEC.origin).parent / "test/compute/fixtures"


def cloudstack(path: str, body: str) -> tuple[int, str]:
    given = dict(urllib.parse.parse_qsl(body or urllib.parse.urlsplit(path).query))
    name = f"{given['command']}_default"
    if given["command"] == "queryAsyncJobResult":
        name = f"queryAsyncJobResult_{given['jobid']}"
    return 200, (RECORDED / "cloudstack" / f"{name}.json").read_text(encoding="utf-8")


def ec2(*, refused: str = "") -> Callable[[str, str], tuple[int, str]]:
    """Answers of EC2; RunInstances is answered by the file `refused` if there is one."""

    def answer(path: str, body: str) -> tuple[int, str]:
        given = dict(urllib.parse.parse_qsl(body or urllib.parse.urlsplit(path).query))
        name = re.sub(r"(?<!^)([A-Z])", r"_\1", given["Action"]).lower()
        name = {"run_instances": refused or "run_instances_idem"}.get(name, name)
        text = (RECORDED / "ec2" / f"{name}.xml").read_text(encoding="utf-8")
        return (400 if name == refused else 200), text

    return answer


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "key")
    for name in ("CLOUDSTACK_KEY", "CLOUDSTACK_SECRET"):
        monkeypatch.setenv(name, "key")


def test_machines_of_cloudstack_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(cloudstack) as port:
        monkeypatch.setenv("CLOUDSTACK_ENDPOINT", f"http://127.0.0.1:{port}/client/api")
        cloud = CloudStack(
            Wanted(
                provider="cloudstack",
                image="XEN Basic Windows Svr 2008 R2 x64 R2.1",
                size="Compute Micro PRD",
                network="guestNetworkForBasicZone",
            )
        )
        assert [finding.status for finding in cloud.check()] == ["ok"]
        assert cloud.request("fred") == "2602"
        looks = cloud.looks(["2600", "2601"])
        assert cloud.find("test") == ["2600", "2601"]
        assert cloud.find("tes") == []
        assert cloud.named("te") == {"2600": "test", "2601": "test"}
        assert cloud.remove("2600")
    assert (looks["2600"].stage, looks["2600"].address) == ("booting", "1.1.1.116")
    assert looks["2601"].stage == "copying", "it is `Starting`"


def test_instances_of_ec2_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = Wanted(provider="ec2", image="Test Image", size="t2.micro")
    with served(ec2()) as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        cloud = Ec2(wanted)
        assert [finding.status for finding in cloud.check()] == ["ok"]
        assert cloud.request("testclienttoken") == "i-2ba64342"
        (look,) = cloud.looks(["i-4382922a"]).values()
        assert cloud.named("ifmxj") == {"i-4382922a": "ifmxj1365530456668"}, "not those without"
        assert cloud.find("ifmxj1365530456668") == ["i-4382922a"]
        assert cloud.find("ifmxj") == []
        assert cloud.remove("i-4382922a")
    assert (look.stage, look.address) == ("failed", "10.211.11.211"), "it is `stopped`"


def test_a_refusal_of_ec2_is_told_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(ec2(refused="run_instances_idem_mismatch")) as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        cloud = Ec2(Wanted(provider="ec2", image="Test Image", size="t2.micro"))
        with pytest.raises(AferirError, match="inconsistent with arguments"):
            cloud.request("testclienttoken")
