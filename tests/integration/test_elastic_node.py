"""A real NGINX and real viewers on loopback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from aferir.elastic.node import native_node
from aferir.elastic.segments import make
from aferir.elastic.video import Video
from aferir.errors import MissingError
from aferir.linux import journal, process, scratch
from aferir.programs.kernels import kernel_path, read_figures
from aferir.registry import clean
from tests.integration.support import own_state
from tests.waiting import eventually

BITRATE = 400_000
SECONDS = 3


@pytest.fixture
def video(tmp_path: Path) -> Path:
    if shutil.which("nginx", path="/usr/sbin:/usr/bin") is None:
        pytest.skip("needs nginx: apt-get install nginx-light")
    path = tmp_path / "video.mp4"
    path.write_bytes(b"v" * (SECONDS * BITRATE // 8))
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o055)
    return path


def watch(url: str, *more: str) -> dict[str, object]:
    program = kernel_path("video-clients")
    done = process.run([str(program), "--url", url, "--bitrate", str(BITRATE), *more])
    return read_figures(done.stdout, "video-clients")


def test_every_viewer_is_served_the_whole_video(video: Path) -> None:
    with native_node(video, sent_bps=int(1.1 * BITRATE)) as node:
        found = watch(node.url, "--clients", "50", "--interval", "0.01", "--startup", "2")
    assert found["served"] == 50
    assert found["received_bytes"] == 50 * video.stat().st_size
    assert found["leaves_unheard"] == 0


def test_a_server_slower_than_the_video_violates_every_viewer(video: Path) -> None:
    with native_node(video, sent_bps=BITRATE // 3) as node:
        found = watch(node.url, "--clients", "5", "--startup", "0.5")
    assert found["clients_with_violations"] == 5
    stalled = found["stalled_s"]
    assert isinstance(stalled, float)
    assert stalled > 0


def test_viewers_of_segments_are_served_all_of_them_at_rates_that_they_choose(
    video: Path,
) -> None:
    if shutil.which("ffmpeg") is None:
        pytest.skip("needs FFmpeg: apt-get install --no-install-recommends ffmpeg")
    rates = (BITRATE / 4, BITRATE / 2, BITRATE)
    asked = Video(seconds=6.0, bitrate_bps=BITRATE, rates_bps=rates, segment_s=1)
    path = make(asked, video.parent)
    with native_node(path, sent_bps=0) as node:
        fixed = watch(node.url, "--clients", "20", "--rule", "highest", "--buffer", "60")
        adapted = watch(node.url, "--clients", "20", "--rule", "throughput", "--buffer", "60")
    first = path.parent / "2.mp4"
    highest = sum(one.stat().st_size for one in [first, *path.parent.glob("2-*.m4s")])
    assert fixed["served"] == adapted["served"] == 20
    assert fixed["received_bytes"] == 20 * highest
    assert fixed["seconds_at_rate"] == [0.0, 0.0, 120.0]
    assert fixed["switches"] == 0
    assert read_seconds(adapted) == pytest.approx(120.0)
    assert read_seconds(adapted, 0) >= 20.0  # every viewer begins with one segment at the lowest


def read_seconds(found: dict[str, object], place: int | None = None) -> float:
    seconds = found["seconds_at_rate"]
    assert isinstance(seconds, list)
    return float(sum(seconds) if place is None else seconds[place])


def test_nothing_of_a_node_is_left(video: Path) -> None:
    with native_node(video) as node:
        pid = node.pid
        assert urllib.request.urlopen(node.url).status == 200  # noqa: S310
    eventually(lambda: not Path(f"/proc/{pid}").exists())


def test_a_node_that_cannot_start_says_why(video: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(MissingError, match="nginx"), native_node(video):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="a process-ID namespace takes root")
def test_what_is_killed_leaves_no_worker_and_a_folder_that_can_be_cleaned(
    video: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_state(tmp_path_factory, monkeypatch)
    serving = (
        "import sys, pathlib, time; from aferir.elastic.node import native_node\n"
        "with native_node(pathlib.Path(sys.argv[1])) as node:\n"
        "    print(node.pid, flush=True)\n"
        "    time.sleep(60)"
    )
    child = process.start([sys.executable, "-c", serving, str(video)], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        worker = int(child.stdout.readline())
        assert b"nginx" in Path(f"/proc/{worker}/cmdline").read_bytes()
        folders = [scratch.folder_of(entry) for entry in journal.entries()]
    finally:
        child.kill()
        child.communicate()
    eventually(lambda: not Path(f"/proc/{worker}").exists())
    assert [folder.is_dir() for folder in folders] == [True]
    assert clean(journal.orphans()) == []
    assert not folders[0].exists()
