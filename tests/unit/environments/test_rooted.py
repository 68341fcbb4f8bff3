"""Files of an instance's tree, leftovers, and the socket to a guest."""

from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.environments import rooted
from aferir.environments.jsonsocket import JsonSocket
from aferir.errors import ProgramError
from aferir.linux import undo


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("host")
    (tmp_path / "tree/etc").mkdir(parents=True)
    return tmp_path / "tree"


def test_a_file_goes_in_with_its_mode_and_comes_out(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(b"\0\xff" * 1000)
    (tmp_path / "program").chmod(0o751)
    rooted.put(tree, tmp_path / "program", PurePosixPath("/opt/a/b/program"))
    assert (tree / "opt/a/b/program").stat().st_mode & 0o7777 == 0o751
    rooted.get(tree, PurePosixPath("/opt/a/b/program"), tmp_path / "new/back")
    assert (tmp_path / "new/back").read_bytes() == b"\0\xff" * 1000


@pytest.mark.parametrize("target", ["/outside", "../outside", "../../../../outside", "{host}"])
def test_no_link_leads_out_of_the_tree(tree: Path, tmp_path: Path, target: str) -> None:
    (tree / "link").symlink_to(target.format(host=tmp_path / "outside"))
    with pytest.raises(ProgramError):
        rooted.get(tree, PurePosixPath("/link/secret"), tmp_path / "stolen")
    (tmp_path / "source").write_text("from the host")
    with pytest.raises(ProgramError):
        rooted.put(tree, tmp_path / "source", PurePosixPath("/link/secret"))
    assert (tmp_path / "outside/secret").read_text() == "host"
    assert not (tmp_path / "stolen").exists()


def test_an_absolute_link_starts_at_the_root_of_the_tree(tree: Path, tmp_path: Path) -> None:
    (tree / "etc/file").write_text("inside")
    (tree / "link").symlink_to("/etc/file")
    rooted.get(tree, PurePosixPath("/link"), tmp_path / "got")
    assert (tmp_path / "got").read_text() == "inside"


def test_a_fifo_does_not_hang_us(tree: Path, tmp_path: Path) -> None:
    os.mkfifo(tree / "fifo")
    with pytest.raises(ProgramError, match="no ordinary file"):
        rooted.get(tree, PurePosixPath("/fifo"), tmp_path / "got")


def test_a_missing_file_is_an_error(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(ProgramError):
        rooted.get(tree, PurePosixPath("/no/such"), tmp_path / "got")


MOUNTINFO = r"""22 1 254:0 / / rw - ext4 /dev/vda rw
40 22 0:30 / /var/x/a\040b rw - tmpfs none rw
41 40 0:31 / /var/x/a\040b/dev/pts rw - devpts none rw
42 22 0:32 / /var/xy rw - tmpfs none rw
torn
"""


def test_mounts_below_a_folder_come_the_deepest_first() -> None:
    assert undo.mounts_below(Path("/var/x"), MOUNTINFO) == [
        Path("/var/x/a b/dev/pts"),
        Path("/var/x/a b"),
    ]


@given(st.text())
def test_no_text_breaks_the_parser_of_mountinfo(text: str) -> None:
    undo.mounts_below(Path("/x"), text)


def test_removing_a_tree_follows_no_link_and_may_be_repeated(tmp_path: Path) -> None:
    (tmp_path / "keep").mkdir()
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone/link").symlink_to(tmp_path / "keep")
    undo.remove_tree(tmp_path / "gone")
    undo.remove_tree(tmp_path / "gone")
    assert (tmp_path / "keep").is_dir()
    (tmp_path / "to-keep").symlink_to(tmp_path / "keep")
    undo.remove_tree(tmp_path / "to-keep")
    assert (tmp_path / "keep").is_dir()


def serve(path: Path, answers: list[bytes]) -> tuple[threading.Thread, list[bytes]]:
    """Somebody who reads a line and sends the next answer, in pieces."""
    heard: list[bytes] = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def talk() -> None:
        with listener, listener.accept()[0] as peer, peer.makefile("rb") as lines:
            for answer in answers:
                heard.append(lines.readline())
                for i in range(0, len(answer), 7):
                    peer.sendall(answer[i : i + 7])

    thread = threading.Thread(target=talk)
    thread.start()
    return thread, heard


def test_events_are_skipped_and_errors_raised(tmp_path: Path) -> None:
    answers = [
        b'{"event": "STOP"}\n{"return": {"pid": 7}}\n',
        b'{"error": {"class": "GenericError", "desc": "no such file"}}\n',
    ]
    thread, heard = serve(tmp_path / "s", answers)
    with JsonSocket(tmp_path / "s") as client:
        client.connect(5)
        assert client.ask("guest-exec", {"path": "x"}) == {"pid": 7}
        with pytest.raises(ProgramError, match="no such file"):
            client.ask("guest-file-open")
        thread.join()
        with pytest.raises(ProgramError):
            client.ask("after the end")
    assert json.loads(heard[0]) == {"execute": "guest-exec", "arguments": {"path": "x"}}


def test_a_sync_skips_answers_to_earlier_requests(tmp_path: Path) -> None:
    answers = [b'{"return": 1}\n\xff{"return": 41}\n\xff{"return": 42}\n']
    thread, heard = serve(tmp_path / "s", answers)
    with JsonSocket(tmp_path / "s") as client:
        client.connect(5)
        client.synchronise(42, 5)
    thread.join()
    assert heard[0].startswith(b"\xff{")


def test_a_socket_without_a_server_is_an_error_in_time(tmp_path: Path) -> None:
    with JsonSocket(tmp_path / "s") as client, pytest.raises(ProgramError, match="nobody"):
        client.connect(0.05)
