"""Instances of an ordinary user, whose layer is mounted in a user namespace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aferir.environments import rootless
from aferir.environments.limited import LayeredSpec
from aferir.environments.tool import INSIDE, Place
from aferir.errors import MissingError
from aferir.linux import journal, mounts, process
from tests.integration.support import own_state, usable

pytestmark = pytest.mark.integration


def spec(**keys: Any) -> LayeredSpec:
    return LayeredSpec(name="it", kind="chroot", cpus=1, memory_bytes=2**28, **keys)


def test_a_layer_is_mounted_in_a_namespace_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own_state(tmp_path_factory, monkeypatch)
    usable("chroot")
    for name in ("tree/proc", "tree/dev", "tree/sys", "upper", "work", "root"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "tree/file").write_text("lower", encoding="ascii")
    program = tmp_path / "inside"
    program.write_text("first", encoding="ascii")
    place = Place(
        entry=journal.write("chroot", {}),
        spec=spec(),
        root=tmp_path / "root",
        cpus=(0,),
        program=program,
        tree=tmp_path / "tree",
    )
    look = 'cat "$0/file" "$0$1"; echo upper > "$0/file"; test -e "$0/proc/self/exe" && id -u'
    command = ["sh", "-c", look, str(place.root), str(INSIDE)]
    done = process.run(rootless.within(place, command, host_folders=True))
    assert done.stdout == "lowerfirst0\n"
    assert (tmp_path / "tree/file").read_text(encoding="ascii") == "lower"
    assert (tmp_path / "upper/file").read_text(encoding="ascii") == "upper\n"
    assert list(place.root.iterdir()) == []
    journal.erase(place.entry)


def test_what_takes_root_is_refused_by_its_name() -> None:
    rootless.refuse(spec())
    for keys in ({"cpu_quota": 0.5}, {"merge_pages": True}, {"volume": "/data"}):
        with pytest.raises(MissingError, match=f"`{next(iter(keys))}` takes root"):
            rootless.refuse(spec(**keys))
    with pytest.raises(MissingError, match="`disk`"):
        rootless.refuse(spec(disk_bytes=2**30))


def test_options_of_an_overlay_name_its_layers(tmp_path: Path) -> None:
    assert mounts.overlay_options(Path("/a,b"), tmp_path / "u", tmp_path / "w") == (
        f"lowerdir=/a\\,b,upperdir={tmp_path}/u,workdir={tmp_path}/w"
    )
