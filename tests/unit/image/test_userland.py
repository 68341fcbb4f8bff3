"""The recipe of an image, and the initramfs from which guests start."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.errors import MissingError
from aferir.image import initramfs, recipe, userland

DEBIAN = {"ID": "debian", "VERSION_CODENAME": "bookworm"}
ONE_LINE = """# deb http://mirror.example/debian bookworm main
deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian bookworm main contrib # own
deb http://mirror.example/debian-security bookworm-security main
deb-src http://mirror.example/debian bookworm main
deb http://vendor.example/tool bookworm stable
deb http://vendor.example/tool tool-bookworm main
deb http://mirror.example/debian trixie main
"""
DEB822 = """Types: deb deb-src
# a comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates bookworm-backports
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .

Types: deb
URIs: http://vendor.example/
Suites: nodistro
Components: main

Enabled: no
Types: deb
URIs: http://off.example/
Suites: bookworm
Components: main
"""


def test_only_the_main_archive_of_the_release_is_kept() -> None:
    assert recipe.one_line_sources(ONE_LINE, "bookworm").splitlines() == [
        "deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian bookworm main",
        "deb http://mirror.example/debian-security bookworm-security main",
    ]


def test_stanzas_of_the_release_are_kept_with_their_keys() -> None:
    found = recipe.deb822_sources(DEB822, "bookworm")
    assert "Suites: bookworm bookworm-updates\n" in found
    assert "Components: main\n" in found
    assert "Types: deb\n" in found
    assert "\n -----BEGIN PGP" in found
    assert "vendor" not in found
    assert "off.example" not in found


@given(st.text())
def test_no_text_breaks_the_parsers_of_sources(text: str) -> None:
    recipe.one_line_sources(text, "bookworm")
    recipe.apt_options(text)
    userland.installed(text)
    recipe.deb822_sources(text, "bookworm")


def test_proxies_reach_the_chroot() -> None:
    dump = (
        'APT "";\nAcquire "";\nAcquire::http::Proxy "http://proxy.example:3128";\n'
        'Acquire::https "";\nAcquire::Check-Valid-Until "false";\nDpkg::Use-Pty "0";\n'
    )
    assert recipe.apt_options(dump) == [
        'Acquire::http::Proxy "http://proxy.example:3128";',
        'Acquire::Check-Valid-Until "false";',
    ]


def test_the_hash_follows_whatever_changes_the_image() -> None:
    first = recipe.for_host(DEBIAN, "x86_64")
    assert first.hash == recipe.for_host(DEBIAN, "x86_64").hash
    changes: list[dict[str, object]] = [
        {"packages": (*first.packages, "strace")},
        {"suite": "trixie"},
        {"architecture": "arm64"},
        {"version": first.version + 1},
    ]
    hashes = {msgspec.structs.replace(first, **change).hash for change in changes}
    assert len(hashes | {first.hash}) == 5


def test_neither_order_nor_what_every_image_has_makes_another_image() -> None:
    usual = recipe.for_host(DEBIAN, "x86_64")
    assert recipe.for_host(DEBIAN, "x86_64", ("libgomp1",)) == usual
    several = ("strace", "libgomp1", "make", "strace")
    wanted = (*usual.packages, "make", "strace")
    assert recipe.for_host(DEBIAN, "x86_64", several).packages == wanted


def test_a_host_without_debian_packages_is_told_so() -> None:
    with pytest.raises(MissingError, match="Fedora"):
        recipe.for_host({"ID": "fedora", "PRETTY_NAME": "Fedora Linux 41"}, "x86_64")


def test_ubuntu_gets_its_own_kernel() -> None:
    ubuntu = {"ID": "ubuntu", "VERSION_CODENAME": "noble"}
    assert recipe.for_host(ubuntu, "x86_64").kernel == "linux-image-virtual"


def test_mmdebstrap_is_given_suite_target_and_sources_in_its_order() -> None:
    found = recipe.command(recipe.for_host(DEBIAN, "x86_64"), ["/h.list"], "/t", "root", [])
    assert found[-3:] == ["bookworm", "/t", "/h.list"]
    assert any(part.startswith("--include=") and "qemu-guest-agent" in part for part in found)


def test_hooks_that_this_host_does_not_have_are_left_out() -> None:
    hooks = f"--hook-dir={recipe.MERGED_HOOKS}"
    usual = recipe.for_host(DEBIAN, "x86_64")
    for there in (True, False):
        found = recipe.command(usual, [], "/t", "root", [], merged_hooks=there)
        assert (hooks in found) == there


def test_installed_packages_are_read_from_the_status_file() -> None:
    status = (
        "Package: bash\nStatus: install ok installed\nVersion: 5.2.15-2+b2\n"
        "Description: shell\n Version: no field\n\nPackage: half\n\n"
    )
    assert userland.installed(status) == {"bash": "5.2.15-2+b2"}


def test_modules_come_after_what_they_need() -> None:
    needs = {
        "virtio_blk": ["virtio", "virtio_ring"],
        "virtio": ["virtio_ring"],
        "virtio_ring": [],
        "virtio_pci": ["virtio", "built_in"],
        "unused": [],
    }
    order = initramfs.load_order(("virtio_pci", "virtio_blk", "built_in"), needs)
    assert order == ["virtio_ring", "virtio", "virtio_pci", "virtio_blk"]


def test_a_circle_of_modules_ends() -> None:
    assert sorted(initramfs.load_order(("a",), {"a": ["b"], "b": ["a"]})) == ["a", "b"]


def test_needs_are_read_from_a_module() -> None:
    module = b"\x7fELF..license=GPL\0softdepends=x\0depends=virtio-ring,virtio\0intree=Y\0"
    assert initramfs.dependencies(module) == ["virtio_ring", "virtio"]
    assert initramfs.dependencies(b"depends=\0") == []


FILES = st.lists(
    st.builds(
        initramfs.File,
        st.text("abc/é", min_size=1, max_size=9),
        st.sampled_from([0o755, 0o644]),
        st.none() | st.binary(max_size=50),
    ),
    max_size=6,
)


@given(FILES)
def test_an_archive_holds_what_was_put_into_it(files: list[initramfs.File]) -> None:
    assert _unpack(initramfs.cpio(files)) == [
        (file.path, file.mode, file.content is None, file.content or b"") for file in files
    ]


@given(FILES)
def test_a_file_is_found_in_an_archive_by_its_path(files: list[initramfs.File]) -> None:
    archive = initramfs.cpio(files)
    for file in files:
        last = [one for one in files if one.path == file.path][-1]
        assert initramfs.member(archive, file.path) == (last.content or b"")
    with pytest.raises(KeyError):
        initramfs.member(archive, "nothing/of/that/name")


def _unpack(data: bytes) -> list[tuple[str, int, bool, bytes]]:
    """The kernel's own reading of the format, init/initramfs.c."""
    found: list[tuple[str, int, bool, bytes]] = []
    at = 0
    while True:
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, length = fields[1], fields[6], fields[11]
        name = data[at + 110 : at + 110 + length - 1].decode()
        start = (at + 110 + length + 3) & ~3
        content = data[start : start + size]
        at = (start + size + 3) & ~3
        if name == "TRAILER!!!":
            return found
        found.append((name, mode & 0o7777, mode & 0o170000 == 0o040000, content))


@pytest.mark.parametrize(("script", "limit_s"), [("exit 3", 60.0), ("sleep 60", 0.05)])
def test_a_build_that_fails_does_not_fill_the_screen_with_its_command(
    script: str, limit_s: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A hook of ours, of many lines, is one of its words."""
    program = tmp_path / "mmdebstrap"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(userland, "_TIME_LIMIT_S", limit_s)
    monkeypatch.setenv("AFERIR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(userland, "find", lambda _: None)
    monkeypatch.setattr(userland, "check", lambda *_: [])
    with pytest.raises(MissingError) as found:
        userland.ensure()
    assert "`mmdebstrap`" in found.value.message
    assert "aferir-out" not in found.value.message
    assert ("busy" in found.value.remedy) == (limit_s < 1)


def test_the_name_of_the_disk_is_changed_by_a_later_member() -> None:
    usual = initramfs.archive({}, b"busybox")
    other = initramfs.with_disk(usual, "nvme0n1")
    assert other.startswith(usual)
    start = initramfs.member(other[len(usual) :], "init")
    assert b"/dev/nvme0n1 /disk" in start
    assert b"vda" not in start


def test_a_guest_starts_with_a_first_program_that_ends_with_its_agent() -> None:
    made = initramfs.with_mortal_init(initramfs.archive({}, b"busybox"))
    start = initramfs.member(made, "init").decode()
    assert start.endswith("exec $b switch_root /disk /run/aferir-guest\n")
    assert "$b cp /guest /disk/run/aferir-guest" in start
    assert initramfs.member(made, "guest").endswith(b"poweroff -f\n")


def test_whoever_comes_while_an_image_is_built_waits_for_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AFERIR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(userland, "check", lambda *_: [])
    monkeypatch.setattr(userland, "host_recipe", lambda *_: recipe.for_host(DEBIAN, "x86_64"))
    building, second_came = threading.Event(), threading.Event()
    built: list[str] = []

    def build(wanted: recipe.Recipe, folder: Path, mark: str, _: object) -> None:
        built.append(mark)
        (second_came if building.is_set() else building).set()
        second_came.wait()
        made = userland.Metadata(hash=wanted.hash, recipe=wanted, kernel_release="6", packages={})
        (folder / "metadata.json").write_bytes(msgspec.json.encode(made))

    monkeypatch.setattr(userland, "_build", build)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(userland.ensure)
        building.wait()
        second = threads.submit(userland.ensure, lambda _: second_came.set())
        assert first.result() == second.result()
    assert len(built) == 1
