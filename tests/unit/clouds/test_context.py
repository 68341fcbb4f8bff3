"""User data, judged by cloud-init's own schema and by Ignition's own validator."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest

from aferir.cli import main
from aferir.clouds.context import cloud_config, ignition
from aferir.clouds.providers import read_wanted
from aferir.elastic.node import content, told
from aferir.elastic.video import Video
from aferir.errors import UsageError
from aferir.model.cloud import Wanted

SOURCE = "http://10.0.0.1/video.mp4?of=us&for=30"
SCHEMA = "usr/lib/python3/dist-packages/cloudinit/config/schemas/schema-cloud-config-v1.json"


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Schema of Debian's package, which is unpacked alone: installed, it would set up this host."""
    folder = tmp_path_factory.mktemp("cloud-init")
    fetch = ["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", "cloud-init"]
    if subprocess.run(fetch, cwd=folder, capture_output=True, check=False).returncode:
        pytest.skip("cloud-init cannot be fetched: apt-get update")
    [package] = folder.glob("*.deb")
    subprocess.run(["dpkg-deb", "--extract", package, folder / "out"], check=True)
    found: dict[str, Any] = msgspec.json.decode((folder / "out" / SCHEMA).read_bytes())
    return found


def test_cloud_init_takes_what_it_is_told(schema: dict[str, Any]) -> None:
    text = cloud_config(content(SOURCE))
    assert text.startswith("#cloud-config\n")
    document = msgspec.json.decode(text.removeprefix("#cloud-config\n"))  # JSON is YAML, too
    jsonschema.Draft4Validator(schema).validate(document)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(schema).validate({**document, "runcmd": "nginx"})
    (file,) = document["write_files"]
    assert file["path"] == "/srv/aferir/nginx.conf"
    assert "limit_rate" in file["content"]
    *_, fetch, start = document["runcmd"]
    assert fetch[-2:] == [SOURCE, "/srv/aferir/videos/video.mp4"]
    assert start == content(SOURCE).start


def test_ignition_takes_what_it_is_told(tmp_path: Path) -> None:
    validate = shutil.which("ignition-validate")
    if validate is None:
        pytest.skip("ignition-validate is not installed: apt-get install ignition")
    path = tmp_path / "config.ign"
    path.write_text(ignition(content(SOURCE)), encoding="utf-8")
    done = subprocess.run([validate, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    path.write_text(ignition(content("nowhere://video")), encoding="utf-8")
    assert subprocess.run([validate, path], capture_output=True, check=False).returncode != 0


def test_the_video_is_written_beside_its_user_data(tmp_path: Path) -> None:
    asked = ["elastic", "image", str(tmp_path), "--form", "user-data", "--source", SOURCE]
    assert main([*asked, "--video", "1", "--content", "random-bytes"]) == 0
    assert (tmp_path / "user-data").read_text(encoding="utf-8") == cloud_config(content(SOURCE))
    assert (tmp_path / "config.ign").read_text(encoding="utf-8") == ignition(content(SOURCE))
    assert (tmp_path / "video.mp4").stat().st_size > 0
    assert main(asked[:-2]) == 2


def test_the_users_own_user_data_are_left_as_they_are() -> None:
    own = Wanted(provider="ec2", context="ignition", user_data="{}")
    image = Wanted(provider="ec2")
    video = Video(seconds=1.0, rates_bps=(1e6, 2e6))
    assert told(own, video) == own
    assert told(image, video) == image
    with pytest.raises(UsageError, match="segments"):
        told(msgspec.structs.replace(own, user_data="", source=SOURCE), video)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('context = "cloud-init"', "takes `source`"),
        ('source = "http://10.0.0.1/video.mp4"', "has no `source`"),
        ('context = "none"', "port = 22"),
        ('context = "butane"', "Invalid enum value"),
        ('provider = "lxd"\ncontext = "cloud-init"\nsource = "http://a/b"', "LXD"),
    ],
)
def test_contradictions_of_a_file_are_named(tmp_path: Path, lines: str, said: str) -> None:
    path = tmp_path / "cloud.toml"
    head = "" if "provider" in lines else 'provider = "ec2"\n'
    path.write_text(head + lines, encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        read_wanted(path)
