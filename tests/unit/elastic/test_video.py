"""The video, as the real FFmpeg encodes it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.elastic import video
from aferir.elastic.node import template
from aferir.elastic.segments import MANIFEST, files
from aferir.elastic.segments import make as make_any
from aferir.elastic.video import SENT_BPS, Video, make, picture, probe
from aferir.errors import MissingError
from aferir.linux import process

LIGHT = 400_000.0


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if shutil.which("ffmpeg") is None:
        pytest.skip("needs FFmpeg: apt-get install --no-install-recommends ffmpeg")
    monkeypatch.setenv("AFERIR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def made(tmp_path: Path, name: str, wanted: Video) -> Path:
    folder = tmp_path / name
    folder.mkdir()
    return make(wanted, folder)


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(("seconds", "rate"), [(1.0, LIGHT), (75.5, LIGHT), (4.0, 2_698_000.0)])
def test_a_video_is_h264_of_the_length_and_rate_that_were_asked_for(
    tmp_path: Path, seconds: float, rate: float
) -> None:
    path = made(tmp_path, "a", Video(seconds=seconds, bitrate_bps=rate))
    found = probe(path)
    assert found.codec == "h264"
    assert found.seconds == pytest.approx(seconds, abs=0.08)
    assert found.bitrate_bps == pytest.approx(rate, rel=0.05)
    assert path.stat().st_size == pytest.approx(seconds * rate / 8, rel=0.08)
    header = path.read_bytes()[: path.stat().st_size // 10]
    assert header.find(b"moov") < header.find(b"mdat")  # a player begins before it has all


def test_a_video_is_made_once_for_its_settings(tmp_path: Path, cache: Path) -> None:
    first = made(tmp_path, "a", Video(seconds=1.0, bitrate_bps=LIGHT))
    (kept,) = (cache / "videos").iterdir()
    changed = kept.stat().st_mtime_ns
    second = made(tmp_path, "b", Video(seconds=1.0, bitrate_bps=LIGHT, sent_bps=9e5))
    assert second.read_bytes() == first.read_bytes()
    assert kept.stat().st_mtime_ns == changed
    made(tmp_path, "c", Video(seconds=1.5, bitrate_bps=LIGHT))
    assert len(list((cache / "videos").iterdir())) == 2


def test_what_the_encoder_misses_is_no_video(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(video, "_AGREES", 0.0)
    with pytest.raises(Exception, match="asked for"):
        made(tmp_path, "a", Video(seconds=1.0, bitrate_bps=LIGHT))
    assert list((cache / "videos").iterdir()) == []


def test_without_ffmpeg_there_is_a_remedy_and_random_bytes_only_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFERIR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("aferir.machine.packages.missing", list)
    with pytest.raises(MissingError, match="ffmpeg") as refused:
        made(tmp_path, "a", Video(seconds=1.0))
    assert "ffmpeg" in refused.value.remedy
    assert "random-bytes" in refused.value.remedy
    asked = Video(seconds=1.0, bitrate_bps=LIGHT, content="random-bytes")
    assert made(tmp_path, "b", asked).stat().st_size == LIGHT / 8
    assert [one.code for one in video.doubts(asked)] == ["random-bytes"]
    assert video.doubts(Video(seconds=1.0)) == ()


@pytest.mark.usefixtures("cache")
def test_segments_are_as_large_as_their_rates_and_others_read_their_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Video(seconds=5.0, bitrate_bps=LIGHT, rates_bps=(LIGHT / 2, LIGHT), segment_s=2)
    for name in ("a", "b"):  # the second time from the cache
        (tmp_path / name).mkdir()
        path = make_any(asked, tmp_path / name)
    sizes = [sum(one.stat().st_size for one in path.parent.glob(f"{k}-*.m4s")) for k in range(2)]
    assert [one.name for one in files(path)] == sorted(
        [MANIFEST, "0.mp4", "1.mp4", *(f"{k}-{n}.m4s" for k in range(2) for n in (1, 2, 3))]
    )
    assert sizes == pytest.approx([5 * LIGHT / 16, 5 * LIGHT / 8], rel=0.06)
    monkeypatch.chdir(path.parent)
    shown = ["-show_entries", "stream=codec_name:format=format_name,duration"]
    said = process.run(["ffprobe", "-v", "error", *shown, "-of", "flat", MANIFEST]).stdout
    assert said.count('codec_name="h264"') >= 2
    assert 'format_name="dash"' in said
    assert 'duration="5.0' in said
    inside = template(path, tmp_path)
    assert inside.probe == f"/{MANIFEST}"
    assert len(inside.files) == 1 + len(files(path))


@given(rate=st.floats(*video.RATES_BPS))
def test_pictures_are_as_large_as_their_rate_fills(rate: float) -> None:
    width, height = picture(rate)
    assert width % 2 == height % 2 == 0
    assert width * height * 25 * 0.47 == pytest.approx(rate, rel=0.03)


def test_a_video_is_sent_a_tenth_faster_than_it_is_played_unless_told(tmp_path: Path) -> None:
    assert Video(seconds=1.0).limit_bps == SENT_BPS
    assert Video(seconds=1.0, bitrate_bps=1e6).limit_bps == pytest.approx(1.1e6, rel=1e-3)
    own = Video(seconds=1.0, bitrate_bps=1e6, sent_bps=4e6)
    template(tmp_path / "v.mp4", tmp_path, sent_bps=own.limit_bps)
    assert "limit_rate 500000;" in (tmp_path / "nginx.conf").read_text("utf-8")


def test_an_impossible_video_is_named() -> None:
    with pytest.raises(ValueError, match="sent"):
        Video(seconds=1.0, sent_bps=1e6)
    with pytest.raises(ValueError, match="bitrate"):
        Video(seconds=1.0, bitrate_bps=1.0)
    with pytest.raises(ValueError, match="rates"):
        Video(seconds=1.0, rates_bps=(1.0, 1e6), bitrate_bps=1e6)
    with pytest.raises(ValueError, match="length"):
        Video(seconds=0.0)
